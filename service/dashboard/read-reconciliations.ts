import { storedText } from '@signalbox/contract/closed-set.ts'
import { BUCKET_NAMES } from '@signalbox/contract/reports.ts'
import type { ReconciliationRange } from '@signalbox/contract/session/reports.ts'
import type { Database } from '../runtime/db/database.ts'
import { type CsvCell, formatCsv } from '../runtime/util/csv.ts'
import { isCalendarDay } from '../runtime/util/time.ts'
import { isUuid } from '../runtime/util/uuid.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { listDestinations } from '../signals/delivery/destination-store.ts'
import type { DayRange } from '../signals/reports/match-quality-store.ts'
import { reportView } from '../signals/reports/read-reports.ts'
import {
  findReportsOfRange,
  type ReportPosition,
  type StoredReport,
} from '../signals/reports/reconciliation-store.ts'
import { encodeCursor, PAGE_ROWS } from './page-cursor.ts'

interface ReconciliationRequest {
  tracker: TrackerIdentity
  range: DayRange
}

interface ReconciliationPage extends ReconciliationRequest {
  after: ReportPosition | null
  at: Date
}

/** A page of the reconciliation reports of a range of days, the newest day first. */
export async function readReconciliations(
  database: Database,
  { tracker, range, after, at }: ReconciliationPage,
): Promise<ReconciliationRange> {
  const { trackerId, workspaceId } = tracker
  const limit = PAGE_ROWS + 1
  const found = await findReportsOfRange(database, { trackerId, ...range, after, limit })
  const page = found.slice(0, PAGE_ROWS)
  const destinations = await listDestinations(database, trackerId)
  const owner = { workspaceId, signalTrackerId: trackerId, at }
  const reports = page.flatMap(report => {
    const destination = destinations.find(({ id }) => id === report.destinationId)
    return destination ? [reportView(report, destination, owner)] : []
  })
  const last = found.length > PAGE_ROWS ? page.at(-1) : undefined
  const cursor = last ? encodeCursor([last.reportDate, last.destinationId]) : null
  return { ...range, reports, next_cursor: cursor }
}

export function parseReportPosition([reportDate = '', destinationId = '']: readonly string[]) {
  return isCalendarDay(reportDate) && isUuid(destinationId) ? { reportDate, destinationId } : null
}

/** A quarter of a year for more destinations than a tracker may have. */
const CSV_ROWS_MAX = 5_000

const HEADER = [
  ...['date', 'destination_id', 'status', 'accepted_count', 'platform_count', 'observed_gap'],
  ...BUCKET_NAMES,
  ...['unexplained_residual', 'updated_at'],
]

/** The reconciliation reports of a range of days with a column for each bucket. */
export async function formatReconciliationCsv(
  database: Database,
  { tracker: { trackerId }, range }: ReconciliationRequest,
): Promise<string> {
  const search = { trackerId, ...range, after: null, limit: CSV_ROWS_MAX }
  const reports = await findReportsOfRange(database, search)
  return formatCsv([HEADER, ...reports.map(toRow)])
}

function toRow(report: StoredReport): CsvCell[] {
  const { acceptedCount, platformCount, buckets } = report
  return [
    ...[report.reportDate, report.destinationId, storedText(report.status)],
    ...[acceptedCount, platformCount, acceptedCount - platformCount],
    ...BUCKET_NAMES.map(name => buckets[name]?.count ?? 0),
    ...[report.unexplainedResidual, report.updatedAt.toISOString()],
  ]
}
