import type { SnapshotCause } from '@signalbox/contract/reasons.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { EarlierScore, EventNameCoverage } from './match-quality.ts'

/** A destination to measure. */
export interface SnapshotTarget {
  trackerId: string
  destinationId: string
}

export interface DueSnapshots {
  /** UTC days, YYYY-MM-DD, with at least one accepted event. */
  from: string
  until: string
  now: Date
  rowsMax: number
}

/** The destinations with accepted events and without a snapshot of the last day. */
export async function findDueSnapshots(
  { pool }: Database,
  { from, until, now, rowsMax }: DueSnapshots,
): Promise<SnapshotTarget[]> {
  const { rows } = await pool.query({
    name: 'find-due-snapshots',
    text: `select destination.tracker_id, destination.id
           from destinations destination
           where destination.disconnected_at is null and exists (
               select 1 from sent_counts sent
               where sent.tracker_id = destination.tracker_id
                 and sent.destination_id = destination.id
                 and sent.sent_on between $1::date and $2::date and sent.accepted > 0)
             and not exists (
               select 1 from emq_snapshots snapshot
               where snapshot.tracker_id = destination.tracker_id
                 and snapshot.measured_on = $2::date and snapshot.destination_id = destination.id)
             and not exists (
               select 1 from emq_readings reading
               where reading.tracker_id = destination.tracker_id
                 and reading.destination_id = destination.id
                 and reading.next_read_at > $3::timestamptz)
           order by destination.tracker_id, destination.id limit $4::integer`,
    values: [from, until, now, rowsMax],
  })
  return rows.map(row => ({ trackerId: row.tracker_id, destinationId: row.id }))
}

/** Claims the request to the platform until `nextReadAt`. False when another process has it. */
export async function claimReading(
  { pool }: Database,
  { trackerId, destinationId }: SnapshotTarget,
  { at, nextReadAt }: { at: Date; nextReadAt: Date },
): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'claim-reading',
    text: `insert into emq_readings (tracker_id, destination_id, read_at, next_read_at)
           values ($1::uuid, $2::uuid, $3::timestamptz, $4::timestamptz)
           on conflict (tracker_id, destination_id) do update set
             read_at = excluded.read_at, next_read_at = excluded.next_read_at
             where emq_readings.next_read_at <= excluded.read_at
           returning tracker_id`,
    values: [trackerId, destinationId, at, nextReadAt],
  })
  return rows.length > 0
}

/** Why a reading gave no snapshot, and when to retry; nulls after a snapshot. */
export interface ReadingResult {
  cause: SnapshotCause | null
  sentence: string | null
  nextReadAt: Date
}

export async function recordReading(
  { pool }: Database,
  { trackerId, destinationId }: SnapshotTarget,
  { cause, sentence, nextReadAt }: ReadingResult,
): Promise<void> {
  await pool.query({
    name: 'record-reading',
    text: `update emq_readings set
             unavailable_cause = $3::text, unavailable_sentence = $4::text,
             next_read_at = $5::timestamptz
           where tracker_id = $1::uuid and destination_id = $2::uuid`,
    values: [trackerId, destinationId, cause, sentence, nextReadAt],
  })
}

export interface EarlierSnapshot extends EarlierScore {
  /** Our coverage at that time. */
  coverage: EventNameCoverage[]
}

export interface EarlierDays {
  today: string
  daysMin: number
  daysMax: number
}

/**
 * Snapshots of the destination from `daysMin` to `daysMax` days before `today`. The answer is
 * parsed here, because PostgreSQL fails on an escaped NUL anywhere in it.
 */
export async function findEarlierSnapshots(
  { pool }: Database,
  { trackerId, destinationId }: SnapshotTarget,
  { today, daysMin, daysMax }: EarlierDays,
): Promise<EarlierSnapshot[]> {
  const { rows } = await pool.query({
    name: 'find-earlier-snapshots',
    text: `select $3::date - measured_on as days_earlier, measured_at, score, platform_response
           from emq_snapshots
           where tracker_id = $1::uuid and destination_id = $2::uuid
             and measured_on between $3::date - $5::integer and $3::date - $4::integer`,
    values: [trackerId, destinationId, today, daysMin, daysMax],
  })
  return rows.map(row => ({
    daysEarlier: row.days_earlier,
    measuredAt: row.measured_at,
    score: row.score,
    coverage: row.platform_response?.signalbox?.coverage ?? [],
  }))
}

export interface NewSnapshot extends SnapshotTarget {
  measuredOn: string
  /** Decimal text. */
  score: string
  weekOverWeekChange: string | null
  alerted: boolean
  /** JSON text. */
  platformResponse: string
  measuredAt: Date
}

/** Returns false when the day has a snapshot, or a concurrent one of the tracker has the ID. */
export async function insertSnapshot({ pool }: Database, snapshot: NewSnapshot): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'insert-snapshot',
    text: `insert into emq_snapshots (tracker_id, id, destination_id, measured_on, score,
             week_over_week_change, alerted, platform_response, measured_at, created_at, updated_at)
           select $1::uuid, coalesce(max(id), 0) + 1, $2::uuid, $3::date, $4::numeric, $5::numeric,
             $6::boolean, $7::json, $8::timestamptz, $8::timestamptz, $8::timestamptz
           from emq_snapshots where tracker_id = $1::uuid
           on conflict do nothing
           returning id`,
    values: [
      snapshot.trackerId,
      snapshot.destinationId,
      snapshot.measuredOn,
      snapshot.score,
      snapshot.weekOverWeekChange,
      snapshot.alerted,
      snapshot.platformResponse,
      snapshot.measuredAt,
    ],
  })
  return rows.length > 0
}

/** Whether the destination has a snapshot of the day. */
export async function hasSnapshot(
  { pool }: Database,
  { trackerId, destinationId }: SnapshotTarget,
  day: string,
): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'has-snapshot',
    text: `select 1 from emq_snapshots
           where tracker_id = $1::uuid and measured_on = $2::date and destination_id = $3::uuid`,
    values: [trackerId, day, destinationId],
  })
  return rows.length > 0
}

/** The match quality of one destination and day. */
export interface StoredSnapshot {
  id: number
  destinationId: string
  /** Decimal text. */
  score: string
  weekOverWeekChange: string | null
  alerted: boolean
  platformResponse: Record<string, unknown> | null
  measuredAt: Date
  createdAt: Date
  updatedAt: Date
}

/** Snapshots per read: three months for a few destinations. */
const SNAPSHOTS_MAX = 500

/** The most answer data per read; older snapshots have only their score. */
const ANSWER_BYTES_MAX = 8_000_000

/** Snapshots of a tracker, newest first. */
export async function findSnapshots(
  { pool }: Database,
  trackerId: string,
): Promise<StoredSnapshot[]> {
  const { rows } = await pool.query({
    name: 'find-snapshots',
    text: `select id, destination_id, score, week_over_week_change, alerted, measured_at,
             created_at, updated_at, case
               when sum(octet_length(platform_response::text)) over (
                 order by measured_on desc, destination_id rows unbounded preceding
               ) <= ${ANSWER_BYTES_MAX} then platform_response
             end as platform_response
           from (
             select * from emq_snapshots where tracker_id = $1::uuid
             order by measured_on desc, destination_id limit ${SNAPSHOTS_MAX}
           ) newest
           order by measured_on desc, destination_id`,
    values: [trackerId],
  })
  return rows.map(toStoredSnapshot)
}

interface SnapshotPage {
  trackerId: string
  /** Only snapshots that were stored earlier. */
  before: Date
  /** The last snapshot of the previous page; null for the first page. */
  after: { measuredOn: string; destinationId: string } | null
  limit: number
}

/**
 * A page of the snapshots of a tracker with their complete answers, the newest day first. It ends
 * early where the answers exceed 8 MB, after one snapshot at least. Empty after the last page.
 */
export async function findSnapshotPage(
  { pool }: Database,
  { trackerId, before, after, limit }: SnapshotPage,
): Promise<(StoredSnapshot & { measuredOn: string })[]> {
  const { rows } = await pool.query({
    name: 'find-snapshot-page',
    text: `select * from (
             select *, row_number() over page as number,
               sum(octet_length(platform_response::text)) over page as answer_bytes
             from (
               select * from emq_snapshots
               where tracker_id = $1::uuid and created_at < $2::timestamptz
                 and ($3::date is null or (measured_on, destination_id) < ($3::date, $4::uuid))
               order by measured_on desc, destination_id desc limit $5::integer
             ) following
             window page as (order by measured_on desc, destination_id desc
               rows unbounded preceding)
           ) measured
           where number = 1 or answer_bytes is null or answer_bytes <= ${ANSWER_BYTES_MAX}
           order by measured_on desc, destination_id desc`,
    values: [trackerId, before, after?.measuredOn, after?.destinationId, limit],
  })
  return rows.map(row => ({ ...toStoredSnapshot(row), measuredOn: row.measured_on }))
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the driver
function toStoredSnapshot(row: any): StoredSnapshot {
  return {
    id: row.id,
    destinationId: row.destination_id,
    score: row.score,
    weekOverWeekChange: row.week_over_week_change,
    alerted: row.alerted,
    platformResponse: row.platform_response,
    measuredAt: row.measured_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
