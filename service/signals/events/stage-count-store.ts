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

/** Whether the tracker ever got an event, stored or refused. */
export async function hasEvents({ pool }: Database, trackerId: string): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'has-events',
    text: `select exists (select 1 from event_counts where tracker_id = $1::uuid)
             or exists (select 1 from refusals where tracker_id = $1::uuid) as known`,
    values: [trackerId],
  })
  return rows[0].known
}
