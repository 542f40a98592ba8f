import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import {
  FAILURE_REASONS,
  type FailureReason,
  HELD_REASONS,
  type HeldReason,
} from '@signalbox/contract/reasons.ts'
import type { Database } from '../../runtime/db/database.ts'
import { COUNTER_SHARD } from '../../runtime/db/sql-fragments.ts'

/** What is counted by hour, beside what other tables count. */
const COUNTED_STAGES = ['accepted', 'held', 'failed', 'platform_accepted'] as const
export type CountedStage = (typeof COUNTED_STAGES)[number]

interface StageSource {
  /** The name of a common table expression, or another source. */
  source: string
  /** The rest as SQL, over the rows of the source. */
  trackerId: string
  at: string
  /** A literal or an expression that is a `CountedStage`. */
  stage: string
  reason: string
  where?: string
}

/** A stage as an SQL literal. */
export function stageLiteral(stage: CountedStage): string {
  return `'${stage}'`
}

/** SQL that adds the rows of a source to the counts of their hour, in the order of the keys. */
export function countStages(rows: StageSource): string {
  const { source, trackerId, at, stage, reason, where = 'true' } = rows
  return `
    insert into stage_counts (tracker_id, hour, stage, reason, slot, count)
    select ${trackerId}, date_trunc('hour', ${at}, 'UTC'), ${stage}, ${reason}, ${COUNTER_SHARD},
      count(*)
    from ${source} where ${where} group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tracker_id, hour, stage, reason, slot) do update set
      count = stage_counts.count + excluded.count`
}

const FINAL_REASONS = [...HELD_REASONS, ...FAILURE_REASONS]

export interface StageCount {
  hour: Date
  stage: Stored<CountedStage>
  /** As deliveries have it; null for none. */
  reason: Stored<HeldReason | FailureReason> | null
  count: number
}

/** The counts by hour of a tracker, oldest first. Up to a month, they are a few thousand rows. */
export async function readStageCounts(
  { pool }: Database,
  { trackerId, from }: { trackerId: string; from: Date },
): Promise<StageCount[]> {
  const { rows } = await pool.query({
    name: 'read-stage-counts',
    text: `select hour, stage, reason, sum(count) as count from stage_counts
           where tracker_id = $1::uuid and hour >= $2::timestamptz
           group by hour, stage, reason order by hour, stage, reason`,
    values: [trackerId, from],
  })
  return rows.map(row => ({
    hour: row.hour,
    stage: parseStored(COUNTED_STAGES, row.stage),
    reason: row.reason === '' ? null : parseStored(FINAL_REASONS, row.reason),
    count: row.count,
  }))
}

/** The first hour with a count of the tracker; null when there is none. */
export async function findFirstCountedHour(
  { pool }: Database,
  trackerId: string,
): Promise<Date | null> {
  const { rows } = await pool.query({
    name: 'find-first-counted-hour',
    text: `select hour from stage_counts where tracker_id = $1::uuid order by hour limit 1`,
    values: [trackerId],
  })
  return rows[0]?.hour ?? null
}

export interface PlatformCountOfDay {
  /** YYYY-MM-DD. */
  day: string
  /** Summed over the destinations with a report. */
  count: number
}

/** What the platforms counted on each UTC day from `from` to before `until`, oldest first. */
export async function readPlatformCounts(
  { pool }: Database,
  { trackerId, from, until }: { trackerId: string; from: string; until: string },
): Promise<PlatformCountOfDay[]> {
  const { rows } = await pool.query({
    name: 'read-platform-counts',
    text: `select report_date as day, sum(meta_count) as count from reconciliation_reports
           where tracker_id = $1::uuid and report_date >= $2::date and report_date < $3::date
             and status <> 'unavailable'
           group by report_date order by report_date`,
    values: [trackerId, from, until],
  })
  return rows
}

/** UTC days, YYYY-MM-DD, both included. */
interface DaysOfTracker {
  trackerId: string
  from: string
  until: string
}

/** Live deliveries of one destination that got this status; no reason: the platform took them. */
export interface DestinationCount {
  destinationId: string
  status: string
  reason: string | null
  count: number
}

/** What became final for each destination on some days, by the primary keys of the two counts. */
export async function readDestinationCounts(
  { pool }: Database,
  { trackerId, from, until }: DaysOfTracker,
): Promise<DestinationCount[]> {
  const { rows } = await pool.query({
    name: 'read-destination-counts',
    // By destination, so that a long history costs nothing: the day comes after it in both keys.
    text: `select own.id as "destinationId", counted.* from destinations own
           cross join lateral (
             select 'accepted' as status, null as reason, sum(accepted)::bigint as count
             from sent_counts
             where tracker_id = $1::uuid and destination_id = own.id
               and sent_on between $2::date and $3::date
             having sum(accepted) > 0
             union all
             select status, reason, sum(count)::bigint from destination_outcomes
             where tracker_id = $1::uuid and destination_id = own.id
               and day between $2::date and $3::date
             group by status, reason having sum(count) > 0
           ) counted
           where own.tracker_id = $1::uuid`,
    values: [trackerId, from, until],
  })
  return rows
}

/** What the platform of a destination reported for some days. */
export interface DestinationReport {
  destinationId: string
  /** Null when no day has a report. */
  count: number | null
  /** Why there is none for the last day that was asked for; null when there is one. */
  explanation: string | null
}

export async function readDestinationReports(
  { pool }: Database,
  { trackerId, from, until }: DaysOfTracker,
): Promise<DestinationReport[]> {
  const { rows } = await pool.query({
    name: 'read-destination-reports',
    text: `select destination_id as "destinationId",
             (sum(meta_count) filter (where status <> 'unavailable'))::bigint as count,
             (array_agg(case status when 'unavailable' then
               coalesce(details -> 'unavailable' ->> 'sentence', trouble) end
               order by report_date desc))[1] as explanation
           from reconciliation_reports
           where tracker_id = $1::uuid and report_date between $2::date and $3::date
           group by destination_id`,
    values: [trackerId, from, until],
  })
  return rows
}
