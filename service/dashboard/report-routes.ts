import { storedText } from '@signalbox/contract/closed-set.ts'
import { ALL_BUCKET_NAMES, type ReconciliationReport } from '@signalbox/contract/reports.ts'
import * as operations from '@signalbox/contract/session/report-operations.ts'
import {
  DayRangeQuery,
  type ReconciliationRange,
  ReportToMake,
} from '@signalbox/contract/session/reports.ts'
import { commitAudited } from '../audit/audit-store.ts'
import type { Database } from '../runtime/db/database.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { Validator } from '../runtime/http/validator.ts'
import { type CsvCell, formatCsv } from '../runtime/util/csv.ts'
import { isUuid } from '../runtime/util/ids.ts'
import {
  DAY_MILLISECONDS,
  formatUtcDay,
  isCalendarDay,
  subtractDays,
} from '../runtime/util/time.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { destinationNotFound } from '../signals/delivery/destination-resource.ts'
import { findDestination, listDestinations } from '../signals/delivery/destination-store.ts'
import { requirePlatform } from '../signals/ingestion/send-test-purchase.ts'
import { makeReport } from '../signals/reports/make-reports.ts'
import { type DayRange, findScores } from '../signals/reports/match-quality-store.ts'
import { gapOf, reportView } from '../signals/reports/read-reports.ts'
import {
  findReports,
  findReportsOfRange,
  type ReportPosition,
  type StoredReport,
} from '../signals/reports/reconciliation-store.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import {
  type DashboardContext,
  encodeCursor,
  PAGE_ROWS,
  readCursor,
  requireTracker,
  type TrackerRequest,
} from './dashboard-context.ts'
import { readHistory } from './history-reads.ts'
import { readMatchQuality } from './match-quality.ts'

/** Match quality and reconciliation over a range of days, as JSON and as CSV. */
export function reportRoutes(app: ServiceApp, context: DashboardContext): void {
  const { now, platforms } = context
  app.route({
    ...operations.getMatchQuality,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'view_events')
      const range = readDayRange(request.query, now())
      return readHistory(context, { request, reply }, database =>
        readMatchQuality({ database, platforms }, { tracker, range, at: now() }),
      )
    },
  })
  app.route({
    ...operations.downloadMatchQuality,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'view_events')
      const range = readDayRange(request.query, now())
      reply.headers(csvHeaders('match-quality', range))
      return readHistory(context, { request, reply }, from =>
        formatMatchQualityCsv(from, { tracker, range }),
      )
    },
  })
  app.route({
    ...operations.listReconciliations,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'view_events')
      const range = readDayRange(request.query, now())
      const after = readCursor(request.query, parseReportPosition)
      const page = { tracker, range, after, at: now() }
      return readHistory(context, { request, reply }, from => readReconciliations(from, page))
    },
  })
  app.route({
    ...operations.makeReconciliation,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      return makeReconciliationNow(context, { request, tracker })
    },
  })
  app.route({
    ...operations.downloadReconciliations,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'view_events')
      const range = readDayRange(request.query, now())
      reply.headers(csvHeaders('reconciliation', range))
      return readHistory(context, { request, reply }, from =>
        formatReconciliationCsv(from, { tracker, range }),
      )
    },
  })
}

function csvHeaders(name: string, { from, to }: DayRange) {
  return {
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': `attachment; filename="${name}-${from}-${to}.csv"`,
  }
}

const DEFAULT_DAYS = 30
/** A quarter of a year. */
const DAYS_MAX = 92

const rangeValidator = new Validator(DayRangeQuery, {
  members: {
    to: { error: describeInvalidDay('to'), parse: parseDay },
    from: { error: describeInvalidDay('from'), parse: parseDay },
  },
})

function describeInvalidDay(field: string): string {
  return `The ${field} field must be a calendar day, such as 2026-11-20.`
}

/** An empty day is left out. */
function parseDay(text: string): string | null {
  return text === '' || isCalendarDay(text) ? text : null
}

/**
 * Reads `from` and `to` from a query: UTC days, both included, by default the last 30 days up to
 * today. Throws a 422 refusal naming every invalid field.
 */
function readDayRange(query: unknown, now: Date): DayRange {
  const given = rangeValidator.validate(query)
  const to = given.to || formatUtcDay(now)
  const from = given.from || subtractDays(startOf(to), DEFAULT_DAYS - 1)
  if (from > to)
    throw Refusal.ofFields({ from: ['The from field must not be after the to field.'] })
  if (countDays(from, to) > DAYS_MAX) {
    const sentence = `The from field must be at most ${DAYS_MAX} days before the to field.`
    throw Refusal.ofFields({ from: [sentence] })
  }
  return { from, to }
}

function countDays(from: string, to: string): number {
  return (startOf(to).getTime() - startOf(from).getTime()) / DAY_MILLISECONDS + 1
}

function startOf(day: string): Date {
  return new Date(`${day}T00:00:00Z`)
}

interface ReconciliationRequest {
  tracker: TrackerIdentity
  range: DayRange
}

interface ReconciliationPage extends ReconciliationRequest {
  after: ReportPosition | null
  at: Date
}

/** A page of the reconciliation reports of a range of days, the newest day first. */
async function readReconciliations(
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

const toMakeValidator = new Validator(ReportToMake, {
  members: {
    date: { error: describeInvalidDay('date'), parse: day => (isCalendarDay(day) ? day : null) },
    destination_id: {
      error: 'The destination_id field must be the ID of a destination.',
      parse: id => (isUuid(id) ? id.toLowerCase() : null),
    },
  },
})

interface MakingRequest {
  request: TrackerRequest & { body: unknown }
  tracker: TrackerIdentity
}

/** Makes the report of one destination and day, and records who asked for it. */
async function makeReconciliationNow(
  context: DashboardContext,
  { request: { user, body }, tracker: { trackerId, workspaceId } }: MakingRequest,
): Promise<ReconciliationReport> {
  const { date: day, destination_id: id } = toMakeValidator.validate(body)
  const at = context.now()
  const today = formatUtcDay(at)
  if (day > today || countDays(day, today) > DAYS_MAX) {
    const sentence = `The date field must be today or one of the ${DAYS_MAX - 1} days before.`
    throw Refusal.ofFields({ date: [sentence] })
  }
  const destination = await findDestination(context.database, trackerId, id)
  if (!destination) throw destinationNotFound()
  await makeReport(requirePlatform(context.delivery), destination, day)
  const reports = await findReports(context.database, trackerId, day)
  const report = reports.find(({ destinationId }) => destinationId === destination.id)
  if (!report) throw new Error('the report was not stored')
  await commitAudited(context, async (_, record) =>
    record({
      workspaceId,
      at,
      actor: userActor(user),
      action: 'report.made',
      subject: { type: 'destination', id: destination.id },
      details: { date: day, status: storedText(report.status) },
    }),
  )
  return reportView(report, destination, { workspaceId, signalTrackerId: trackerId, at })
}

function parseReportPosition([reportDate = '', destinationId = '']: readonly string[]) {
  return isCalendarDay(reportDate) && isUuid(destinationId) ? { reportDate, destinationId } : null
}

/** A quarter of a year for more destinations than a tracker may have. */
const CSV_ROWS_MAX = 5_000

const HEADER = [
  ...['date', 'destination_id', 'status', 'accepted_count', 'platform_count', 'observed_gap'],
  ...ALL_BUCKET_NAMES,
  ...['unexplained_residual', 'updated_at', 'platform', 'count_label', 'unavailable', 'outcomes'],
  ...['accepted_values', 'reported_values', 'accepted_by_event', 'counted_by_event'],
]

/** The reconciliation reports of a range of days with a column for each bucket. */
async function formatReconciliationCsv(
  database: Database,
  { tracker: { trackerId }, range }: ReconciliationRequest,
): Promise<string> {
  const search = { trackerId, ...range, after: null, limit: CSV_ROWS_MAX }
  const reports = await findReportsOfRange(database, search)
  return formatCsv([HEADER, ...reports.map(toRow)])
}

function toRow(report: StoredReport): CsvCell[] {
  const { acceptedCount, platformCount, buckets, details } = report
  const isCompared = platformCount !== null
  return [
    ...[report.reportDate, report.destinationId, storedText(report.status)],
    ...[acceptedCount, platformCount, gapOf(report)],
    ...ALL_BUCKET_NAMES.map(name => (isCompared ? (buckets[name]?.count ?? 0) : null)),
    ...[report.unexplainedResidual, report.updatedAt.toISOString()],
    ...[details?.countSource?.platform ?? null, details?.countSource?.label ?? null],
    ...[details?.unavailable?.sentence ?? null, details && { json: details.outcomes }],
    ...[details && { json: details.values.accepted }, toJsonCell(details?.values.reported)],
    ...[
      { json: report.eventCounts.accepted },
      toJsonCell(isCompared ? report.eventCounts.meta : null),
    ],
  ]
}

function toJsonCell(value: object | null | undefined): CsvCell {
  return value ? { json: value } : null
}

const MATCH_QUALITY_COLUMNS = [
  'date',
  'destination_id',
  'score',
  'week_over_week_change',
  'alerted',
]

/** The scores of a range of days, the newest first. */
async function formatMatchQualityCsv(
  database: Database,
  { tracker, range }: ReconciliationRequest,
): Promise<string> {
  const scores = await findScores(database, tracker.trackerId, range)
  const rows = scores.map((score): CsvCell[] => [
    ...[score.measuredOn, score.destinationId],
    ...[Number(score.score), score.weekOverWeekChange && Number(score.weekOverWeekChange)],
    score.alerted ? 'yes' : 'no',
  ])
  return formatCsv([MATCH_QUALITY_COLUMNS, ...rows])
}
