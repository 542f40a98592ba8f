import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import {
  FAILURE_REASONS,
  type FailureReason,
  HELD_REASONS,
  type HeldReason,
} from '@signalbox/contract/reasons.ts'
import type { Database } from '../../runtime/db/database.ts'
import { COUNTED_STAGES, type CountedStage } from '../events/stage-count-store.ts'

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
