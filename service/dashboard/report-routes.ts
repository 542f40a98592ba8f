import { storedText } from '@signalbox/contract/closed-set.ts'
import { decimalToken } from '@signalbox/contract/decimal.ts'
import { ALL_BUCKET_NAMES } from '@signalbox/contract/reports.ts'
import * as operations from '@signalbox/contract/session/report-operations.ts'
import {
  DayRangeQuery,
  type MatchAdvice,
  type MatchCoverage,
  type MatchQualityReport,
  type ReconciliationRange,
} from '@signalbox/contract/session/reports.ts'
import type { Database } from '../runtime/db/database.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { Validator } from '../runtime/http/validator.ts'
import { type CsvCell, formatCsv } from '../runtime/util/csv.ts'
import { isUuid } from '../runtime/util/ids.ts'
import { isObject } from '../runtime/util/is-object.ts'
import {
  DAY_MILLISECONDS,
  formatUtcDay,
  isCalendarDay,
  subtractDays,
} from '../runtime/util/time.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { destinationView } from '../signals/delivery/destination-resource.ts'
import { listDestinations } from '../signals/delivery/destination-store.ts'
import { FINE_SCORE_MIN } from '../signals/reports/match-quality.ts'
import {
  type DayRange,
  findFailedReadings,
  findScores,
  findSnapshotAnswer,
  type StoredScore,
} from '../signals/reports/match-quality-store.ts'
import { gapOf, reportView } from '../signals/reports/read-reports.ts'
import {
  findReportsOfRange,
  type ReportPosition,
  type StoredReport,
} from '../signals/reports/reconciliation-store.ts'
import {
  type DashboardContext,
  encodeCursor,
  PAGE_ROWS,
  readCursor,
  requireTracker,
} from './dashboard-context.ts'

/** Match quality and reconciliation over a range of days, as JSON and as CSV. */
export function reportRoutes(app: ServiceApp, context: DashboardContext): void {
  const { database, now } = context
  app.route({
    ...operations.getMatchQuality,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'view_events')
      const range = readDayRange(request.query, now())
      return readMatchQuality(database, { tracker, range, at: now() })
    },
  })
  app.route({
    ...operations.downloadMatchQuality,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'view_events')
      const range = readDayRange(request.query, now())
      reply.headers(csvHeaders('match-quality', range))
      return reply.send(await formatMatchQualityCsv(database, { tracker, range }))
    },
  })
  app.route({
    ...operations.listReconciliations,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'view_events')
      const range = readDayRange(request.query, now())
      const after = readCursor(request.query, parseReportPosition)
      return readReconciliations(database, { tracker, range, after, at: now() })
    },
  })
  app.route({
    ...operations.downloadReconciliations,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'view_events')
      const range = readDayRange(request.query, now())
      reply.headers(csvHeaders('reconciliation', range))
      return reply.send(await formatReconciliationCsv(database, { tracker, range }))
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

function parseReportPosition([reportDate = '', destinationId = '']: readonly string[]) {
  return isCalendarDay(reportDate) && isUuid(destinationId) ? { reportDate, destinationId } : null
}

/** A quarter of a year for more destinations than a tracker may have. */
const CSV_ROWS_MAX = 5_000

const HEADER = [
  ...['date', 'destination_id', 'status', 'accepted_count', 'platform_count', 'observed_gap'],
  ...ALL_BUCKET_NAMES,
  ...['unexplained_residual', 'updated_at', 'platform', 'count_label', 'unavailable', 'outcomes'],
  ...['accepted_values', 'reported_values'],
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
  ]
}

function toJsonCell(value: object | null | undefined): CsvCell {
  return value ? { json: value } : null
}

interface ReportRequest {
  tracker: TrackerIdentity
  range: DayRange
  at: Date
}

/** The match quality of each destination over a range of days, and how to improve it. */
export async function readMatchQuality(
  database: Database,
  { tracker: { trackerId, workspaceId }, range, at }: ReportRequest,
): Promise<MatchQualityReport> {
  const scores = await findScores(database, trackerId, range)
  const failures = await findFailedReadings(database, trackerId)
  const destinations: MatchQualityReport['destinations'] = []
  for (const destination of await listDestinations(database, trackerId)) {
    const own = scores.filter(({ destinationId }) => destinationId === destination.id)
    const [newest] = own
    const answer = newest ? await findSnapshotAnswer(database, trackerId, newest) : null
    const failure = failures.find(({ destinationId }) => destinationId === destination.id)
    destinations.push({
      destination: destinationView(destination, { workspaceId, at }),
      trend: own.toReversed().map(scoreView),
      measured_at: answer?.measuredAt.toISOString() ?? null,
      ...readOwnPart(answer?.platformResponse ?? null),
      unavailable: failure
        ? { sentence: failure.sentence, next_read_at: failure.nextReadAt.toISOString() }
        : null,
    })
  }
  return { ...range, alert_below: FINE_SCORE_MIN, destinations }
}

function scoreView({ measuredOn, score, weekOverWeekChange, alerted }: StoredScore) {
  return {
    date: measuredOn,
    score: decimalToken(score),
    week_over_week_change: weekOverWeekChange === null ? null : decimalToken(weekOverWeekChange),
    alerted,
  }
}

/** Our part of a stored answer. Those of earlier versions may lack a member. */
function readOwnPart(response: Record<string, unknown> | null) {
  const own = isObject(response?.signalbox) ? response.signalbox : {}
  const { coverage, advice } = own
  return {
    coverage: Array.isArray(coverage) ? (coverage as MatchCoverage[]) : [],
    advice: Array.isArray(advice) ? (advice as MatchAdvice[]).toSorted(byGain) : [],
  }
}

function byGain(one: MatchAdvice, other: MatchAdvice): number {
  return (other.possible_gain_percent ?? 0) - (one.possible_gain_percent ?? 0)
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
  { tracker, range }: Pick<ReportRequest, 'tracker' | 'range'>,
): Promise<string> {
  const scores = await findScores(database, tracker.trackerId, range)
  const rows = scores.map((score): CsvCell[] => [
    ...[score.measuredOn, score.destinationId],
    ...[Number(score.score), score.weekOverWeekChange && Number(score.weekOverWeekChange)],
    score.alerted ? 'yes' : 'no',
  ])
  return formatCsv([MATCH_QUALITY_COLUMNS, ...rows])
}
