import { COUNTER_SHARD, utcDay } from '../../runtime/db/sql-fragments.ts'
import { type CountedStage, countStages } from '../events/stage-count-store.ts'
import { ADD_COUNTS } from './delivery-store.ts'

/** Causes of a destination and UTC day; further ones count as one per class, without a code. */
const CAUSES_MAX = 200
export const SAMPLES_MAX = 3
export const NO_CODE = -1

/** Between an event and the milliseconds of its settlement. No ID has U+001E or U+001F. */
export const TIME_SEPARATOR = '\x1e'

/** The columns of a settled delivery that the counts of issues read, with their types. */
const ISSUE_SOURCE_COLUMNS = { event_id: 'text', space: 'smallint', issue: 'text' }

export interface IssueParameters {
  /** As SQL, such as `$1`. */
  trackerId: string
  destinationId: string
  /** The time of settlement. */
  at: string
}

export const CAUSE = 'class, code, subcode, reason'

/**
 * Common table expressions that end in `counted_issues`: the causes of the settled deliveries. The
 * causes of the day are counted only when one is new, which is rare: so the rows of a day are
 * limited, with any codes that a platform answers.
 */
export function countedIssues({ trackerId, destinationId, at }: IssueParameters): string {
  const ofDay = `tracker_id = ${trackerId}::uuid and destination_id = ${destinationId}::uuid
    and day = (${at}::timestamptz at time zone 'UTC')::date`
  return `settled_issues as materialized (
      select split_part(issue, ' ', 1) as class, split_part(issue, ' ', 2)::integer as code,
        split_part(issue, ' ', 3)::integer as subcode, split_part(issue, ' ', 4) as reason,
        count(*) as attempts, count(*) filter (where status like 'failed:%') as failed,
        (array_agg(space || ':' || event_id || ${asSampleTime(at)}
          order by created_at desc, event_id))[1:${SAMPLES_MAX}] as event_ids
      from settled where issue is not null and not is_test
      group by 1, 2, 3, 4
    ), known_issues as materialized (
      select settled_issues.*, exists (
          select 1 from delivery_issues issues where ${ofDay}
            and issues.class = settled_issues.class and issues.code = settled_issues.code
            and issues.subcode = settled_issues.subcode and issues.reason = settled_issues.reason
        ) as is_known
      from settled_issues
    ), fitting_issues as materialized (
      select known_issues.*, is_known or (
          select count(*) from (select distinct ${CAUSE} from delivery_issues where ${ofDay}) causes
        ) + dense_rank() over (partition by is_known order by ${CAUSE}) <= ${CAUSES_MAX} as fits
      from known_issues
    ), counted_issues as materialized (
      select class, case when fits then code else ${NO_CODE} end as code,
        case when fits then subcode else ${NO_CODE} end as subcode,
        case when fits then reason else '' end as reason,
        sum(attempts)::bigint as attempts, sum(failed)::bigint as failed,
        max(event_ids) as event_ids
      from fitting_issues group by 1, 2, 3, 4
    )`
}

/** The columns of `counted_issues`, as SQL. */
export const COUNTED_ISSUE_TYPES =
  'class text, code integer, subcode integer, reason text, attempts bigint, failed bigint, ' +
  'event_ids text[]'

const SAMPLE_NUMBERS = Array.from({ length: SAMPLES_MAX }, (_, index) => index + 1)

/** The stored samples, without those of the events that are written again. */
const KEPT_SAMPLES = SAMPLE_NUMBERS.map(keepUnlessWritten).join(', ')
const OTHER_SAMPLES = `array_remove(array[${KEPT_SAMPLES}], null)`

function keepUnlessWritten(number: number): string {
  const eventOf = (sample: string) => `split_part(${sample}, E'\\x1e', 1)`
  const stored = `delivery_issues.event_ids[${number}]`
  const written = SAMPLE_NUMBERS.map(each => eventOf(`coalesce(excluded.event_ids[${each}], '')`))
  return `case when ${eventOf(stored)} not in (${written.join(', ')}) then ${stored} end`
}

/** Shards are written by several connections, so a sample carries its time: see `readSamples`. */
function asSampleTime(at: string): string {
  return `E'\\x1e' || floor(extract(epoch from ${at}::timestamptz) * 1000)`
}

/** Writes in the order of the keys, so that two workers cannot deadlock. */
export function writeIssues(
  source: string,
  { trackerId, destinationId, at }: IssueParameters,
): string {
  return `
    insert into delivery_issues (tracker_id, destination_id, day, ${CAUSE}, slot, attempts, failed,
      first_at, last_at, event_ids)
    select ${trackerId}::uuid, ${destinationId}::uuid,
      (${at}::timestamptz at time zone 'UTC')::date, ${CAUSE}, ${COUNTER_SHARD}, attempts, failed,
      ${at}::timestamptz, ${at}::timestamptz, event_ids
    from ${source} order by ${CAUSE}
    on conflict (tracker_id, destination_id, day, ${CAUSE}, slot) do update set
      attempts = delivery_issues.attempts + excluded.attempts,
      failed = delivery_issues.failed + excluded.failed,
      first_at = least(delivery_issues.first_at, excluded.first_at),
      last_at = greatest(delivery_issues.last_at, excluded.last_at),
      event_ids = (excluded.event_ids || ${OTHER_SAMPLES})[1:${SAMPLES_MAX}]`
}

/** The columns of `settled`, from which a settlement is counted, with their types as SQL. */
const SETTLED_COLUMNS = {
  created_at: 'timestamptz',
  is_test: 'boolean',
  status: 'text',
  status_reason: 'text',
  group_number: 'integer',
  unknown: 'integer',
  amount: 'numeric',
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
      -count(*) filter (where status like 'skipped:%'),
      count(*) filter (where status = 'accepted')
    from ${source} where not is_test and (status = 'accepted' or status like 'skipped:%')
    group by 2 order by 2
    ${ADD_COUNTS}`

const STAGES: [CountedStage, condition: string][] = [
  ['platform_accepted', `status = 'accepted'`],
  ['failed', `status like 'failed:%'`],
  ['held', `(status = 'expired' or status like 'skipped:%')`],
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
