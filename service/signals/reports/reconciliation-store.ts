import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import type { ReportCause } from '@signalbox/contract/reasons.ts'
import {
  type PlatformCount,
  REPORT_STATUSES,
  type ReportStatus,
} from '@signalbox/contract/reports.ts'
import type { Database } from '../../runtime/db/database.ts'
import { isUniqueViolation } from '../../runtime/db/database-errors.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'
import { type Destination, destinationOf } from '../delivery/destination-store.ts'
import type { RequestsOfDay } from '../delivery/receipt-store.ts'
import type { SentValue } from '../delivery/sent-counts-store.ts'
import type { DayCounts } from '../platforms/platform.ts'
import type { DayReconciliation } from './reconcile-day.ts'
import type { ReportAttempt } from './report-schedule.ts'

export interface DestinationKey {
  trackerId: string
  id: string
}

export interface DestinationPage {
  /** Only destinations that received events on this UTC day or later. */
  sentSince: string
  /** The last destination of the previous page; null for the first page. */
  after: DestinationKey | null
  limit: number
}

/** A page of the destinations of all trackers that received events recently, in order. */
export async function findActiveDestinations(
  { pool }: Database,
  { sentSince, after, limit }: DestinationPage,
): Promise<Destination[]> {
  const { rows } = await pool.query({
    name: 'find-active-destinations',
    text: `select destinations.* from destinations
           where ($2::uuid is null or (tracker_id, id) > ($2::uuid, $3::uuid))
             and disconnected_at is null
             and exists (
               select 1 from sent_counts
               where sent_counts.tracker_id = destinations.tracker_id
                 and sent_counts.destination_id = destinations.id and sent_on >= $1::date
             )
           order by tracker_id, id limit $4::integer`,
    values: [sentSince, after?.trackerId ?? null, after?.id ?? null, limit],
  })
  return rows.map(destinationOf)
}

/** The reports of these trackers since a UTC day, by destination and day (`reportAttemptKey`). */
export async function findReportAttempts(
  { pool }: Database,
  trackerIds: readonly string[],
  since: string,
): Promise<Map<string, ReportAttempt>> {
  const { rows } = await pool.query({
    name: 'find-report-attempts',
    text: `select tracker_id, destination_id, report_date, status, updated_at, tried_at
           from reconciliation_reports
           where tracker_id = any($1::uuid[]) and report_date >= $2::date`,
    values: [arrayLiteral(trackerIds), since],
  })
  return new Map(
    rows.map(row => [
      reportAttemptKey({ trackerId: row.tracker_id, id: row.destination_id }, row.report_date),
      { status: row.status, updatedAt: row.updated_at, triedAt: row.tried_at },
    ]),
  )
}

export function reportAttemptKey({ trackerId, id }: DestinationKey, day: string): string {
  return `${trackerId} ${id} ${day}`
}

export interface DestinationDay {
  trackerId: string
  destinationId: string
  day: string
}

/** The event counts of the last reports before a day, newest first. */
export async function findEarlierCounts(
  { pool }: Database,
  { trackerId, destinationId, day }: DestinationDay,
  limit: number,
): Promise<DayReconciliation['eventCounts'][]> {
  const { rows } = await pool.query({
    name: 'find-earlier-counts',
    text: `select event_counts from reconciliation_reports
           where tracker_id = $1::uuid and destination_id = $2::uuid and report_date < $3::date
           order by report_date desc limit $4::integer`,
    values: [trackerId, destinationId, day, limit],
  })
  return rows.map(row => row.event_counts)
}

/** What a report says besides the comparison; stored as JSON. */
export interface ReportDetails {
  /** Why there is no count; null with one. */
  unavailable: { cause: ReportCause; sentence: string } | null
  /** The platform's words for its count; null without its plug-in. */
  countSource: PlatformCount | null
  /** Events that the map of the destination renames. */
  sentNames: { eventName: string; platformName: string }[]
  outcomes: { status: string; reason: string; count: number }[]
  requests: RequestsOfDay | null
  values: {
    accepted: SentValue[]
    reported: NonNullable<DayCounts['values']> | null
    /** Why the platform reports none. */
    noValues: string | null
  }
}

export interface NewReport extends DestinationDay {
  reconciliation: DayReconciliation
  /** Left out: it says nothing else. */
  details?: ReportDetails
  /** The start of the run; a report of a later run is not overwritten. */
  madeAt: Date
}

/** The next ID of a tracker is its last one plus 1, which a concurrent process may take. */
const ATTEMPTS_MAX = 10

/**
 * Saves a report in place of the previous one. A report without counts does not replace one with
 * counts: only the time of the attempt and its problem are stored.
 */
export async function saveReport({ pool }: Database, report: NewReport): Promise<void> {
  const { trackerId, destinationId, day, reconciliation, details, madeAt } = report
  const values = [
    trackerId,
    destinationId,
    day,
    madeAt,
    reconciliation.acceptedCount,
    // The columns take no null; `status` says that there is no count.
    reconciliation.platformCount ?? 0,
    JSON.stringify(reconciliation.eventCounts),
    JSON.stringify(reconciliation.buckets),
    reconciliation.unexplainedResidual ?? 0,
    reconciliation.status,
    details?.unavailable ? `The day was not compared. ${details.unavailable.sentence}` : null,
    details ? JSON.stringify(details) : null,
  ]
  for (let attempts = 1; ; attempts += 1) {
    try {
      await pool.query({ name: 'save-report', text: SAVE_REPORT, values })
      return
    } catch (error) {
      // The statement handles a conflict of day and destination, so only the ID can conflict.
      if (attempts === ATTEMPTS_MAX || !isUniqueViolation(error)) throw error
    }
  }
}

const PRESERVED_COLUMNS = [
  'accepted_count',
  'meta_count',
  'event_counts',
  'buckets',
  'unexplained_residual',
  'status',
  'details',
  'updated_at',
]

const IS_PRESERVED = `excluded.status = 'unavailable' and report.status <> 'unavailable'`

/** No parameters after `on conflict`: Citus could not infer the types of the earlier ones. */
const SAVE_REPORT = `
  insert into reconciliation_reports as report
    (tracker_id, id, destination_id, report_date, created_at, updated_at, tried_at,
     accepted_count, meta_count, event_counts, buckets, unexplained_residual, status,
     trouble, details)
  select $1::uuid, coalesce(max(id), 0) + 1, $2::uuid, $3::date, $4::timestamptz,
    $4::timestamptz, $4::timestamptz, $5::integer, $6::integer, $7::json, $8::json, $9::integer,
    $10::text, $11::text, $12::json
  from reconciliation_reports where tracker_id = $1::uuid
  on conflict (tracker_id, report_date, destination_id) do update set
    tried_at = excluded.tried_at,
    trouble = excluded.trouble,
    ${PRESERVED_COLUMNS.map(preserveColumn).join(',\n    ')}
  where report.tried_at <= excluded.tried_at`

function preserveColumn(column: string): string {
  return `${column} = case when ${IS_PRESERVED} then report.${column} else excluded.${column} end`
}

/** A stored reconciliation of one destination and day. */
export interface StoredReport {
  id: number
  destinationId: string
  reportDate: string
  acceptedCount: number
  /** Null without a report of the platform, as the residual. */
  platformCount: number | null
  eventCounts: DayReconciliation['eventCounts']
  buckets: Record<string, { count: number; basis: string; explanation: string }>
  unexplainedResidual: number | null
  status: Stored<ReportStatus>
  createdAt: Date
  updatedAt: Date
  /** The time of the last attempt; later than `updatedAt` when that attempt failed. */
  triedAt: Date
  /** Why the last attempt returned no counts, for people; null when it did. */
  trouble: string | null
  /** Null in reports from before they were stored. */
  details: ReportDetails | null
}

/** The reports of a UTC day (YYYY-MM-DD), by destination. */
export async function findReports(
  { pool }: Database,
  trackerId: string,
  day: string,
): Promise<StoredReport[]> {
  const { rows } = await pool.query({
    name: 'find-reports',
    text: `select * from reconciliation_reports
           where tracker_id = $1::uuid and report_date = $2::date order by destination_id`,
    values: [trackerId, day],
  })
  return rows.map(toStoredReport)
}

/** The last report of a page. */
export interface ReportPosition {
  reportDate: string
  destinationId: string
}

interface ReportPage {
  trackerId: string
  /** UTC days, both included. */
  from: string
  to: string
  /** Null for the first page. */
  after: ReportPosition | null
  limit: number
}

/** A page of the reports of a range of days, the newest day first. */
export async function findReportsOfRange(
  { pool }: Database,
  { trackerId, from, to, after, limit }: ReportPage,
): Promise<StoredReport[]> {
  const { rows } = await pool.query({
    name: 'find-reports-of-range',
    text: `select * from reconciliation_reports
           where tracker_id = $1::uuid and report_date between $2::date and $3::date
             and ($4::date is null or (report_date, destination_id) < ($4::date, $5::uuid))
           order by report_date desc, destination_id desc limit $6::integer`,
    values: [trackerId, from, to, after?.reportDate, after?.destinationId, limit],
  })
  return rows.map(toStoredReport)
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the driver
function toStoredReport(row: any): StoredReport {
  const isUnavailable = row.status === 'unavailable'
  return {
    id: row.id,
    destinationId: row.destination_id,
    reportDate: row.report_date,
    acceptedCount: row.accepted_count,
    platformCount: isUnavailable ? null : row.meta_count,
    eventCounts: row.event_counts,
    buckets: isUnavailable ? {} : row.buckets,
    unexplainedResidual: isUnavailable ? null : row.unexplained_residual,
    status: parseStored(REPORT_STATUSES, row.status),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    triedAt: row.tried_at,
    trouble: row.trouble,
    details: withUnavailable(row),
  }
}

/** Reports from before details kept the reason have it as the explanation of each bucket. */
// biome-ignore lint/suspicious/noExplicitAny: a row of the driver
function withUnavailable({ status, details, buckets, trouble }: any): ReportDetails | null {
  if (status !== 'unavailable' || details) return details
  const [bucket] = Object.values<{ explanation?: string }>(buckets)
  const sentence = bucket?.explanation ?? trouble ?? 'The day was not compared.'
  const unavailable = { cause: 'not_recorded' as const, sentence }
  return { ...NO_DETAILS, unavailable }
}

const NO_DETAILS = {
  countSource: null,
  sentNames: [],
  outcomes: [],
  requests: null,
  values: { accepted: [], reported: null, noValues: null },
}
