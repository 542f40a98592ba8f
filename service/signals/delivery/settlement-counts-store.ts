import { COUNTER_SHARD, utcDay } from '../../runtime/db/sql-fragments.ts'
import { type CountedStage, countStages } from '../events/stage-count-store.ts'
import { ADD_COUNTS } from './delivery-columns.ts'
import { ISSUE_SOURCE_COLUMNS } from './issue-store.ts'

/** The columns of `settled`, from which a settlement is counted, with their types as SQL. */
const SETTLED_COLUMNS = {
  created_at: 'timestamptz',
  is_test: 'boolean',
  status: 'text',
  status_reason: 'text',
  group_number: 'integer',
  unknown: 'integer',
  ...ISSUE_SOURCE_COLUMNS,
}

export const SETTLED_NAMES = Object.keys(SETTLED_COLUMNS).join(', ')

export const SETTLED_TYPES = Object.entries(SETTLED_COLUMNS)
  .map(([name, type]) => `${name} ${type}`)
  .join(', ')

/** Adds to the counts of the day on which the deliveries were planned. */
export const countSettled = (source: string, trackerId: string) => `
    insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
    select ${trackerId}::uuid, ${utcDay('created_at')}, ${COUNTER_SHARD},
      -count(*) filter (where status = 'skipped:consent'),
      count(*) filter (where status = 'accepted')
    from ${source} where not is_test and status in ('accepted', 'skipped:consent')
    group by 2 order by 2
    ${ADD_COUNTS}`

const STAGES: [CountedStage, condition: string][] = [
  ['platform_accepted', `status = 'accepted'`],
  ['failed', `status like 'failed:%'`],
  ['held', `status in ('expired', 'skipped:consent')`],
]

const STAGE_OF_STATUS = `case ${STAGES.map(
  ([stage, condition]) => `when ${condition} then '${stage}'`,
).join(' ')} end`

/** Adds to the counts of the hour of settlement. Test deliveries do not count. */
export const countSettledStages = (source: string, trackerId: string, at: string) =>
  countStages({
    source,
    trackerId: `${trackerId}::uuid`,
    at: `${at}::timestamptz`,
    stage: STAGE_OF_STATUS,
    reason: `case when status = 'accepted' then '' else status_reason end`,
    where: `not is_test and (${STAGES.map(([, condition]) => condition).join(' or ')})`,
  })
