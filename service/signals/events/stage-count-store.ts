import { COUNTER_SHARD } from '../../runtime/db/sql-fragments.ts'

/** What is counted by hour, beside what other tables count. */
export const COUNTED_STAGES = ['accepted', 'held', 'failed', 'platform_accepted'] as const
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
