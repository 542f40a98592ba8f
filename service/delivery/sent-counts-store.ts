import type { Database } from '../db/database.ts'
import {
  type BatchColumn,
  COUNTER_SHARD,
  toArrayParameters,
  unnestColumns,
} from '../db/sql-fragments.ts'

/** Event names counted per day and destination; the platform lists a hundred. */
export const COUNTED_NAMES_MAX = 200

/** The name under which all further event names are counted. */
export const OTHER_NAMES = '(other names)'

export interface CountedSpan {
  trackerId: string
  destinationId: string
  /** UTC days of sending, YYYY-MM-DD, both included. */
  from: string
  until: string
}

export interface MatchKeyCounts {
  eventName: string
  /** Accepted live events. */
  events: number
  /** How many of them contained each key, such as `em` or `fbc`. */
  keys: Record<string, number>
}

/** The identifiers of the accepted live events of some days, by event name. */
export async function countMatchKeys(
  { pool }: Database,
  { trackerId, destinationId, from, until }: CountedSpan,
): Promise<MatchKeyCounts[]> {
  const { rows } = await pool.query({
    name: 'count-match-keys',
    text: `select name.event_name, name.events, coalesce(key.keys, '{}'::json) as keys
           from (
             select event_name, sum(accepted) as events from sent_counts
             where tracker_id = $1::uuid and destination_id = $2::uuid
               and sent_on between $3::date and $4::date
             group by event_name having sum(accepted) > 0
           ) name
           left join (
             select event_name, json_object_agg(match_key, events order by match_key) as keys
             from (
               select event_name, match_key, sum(events) as events from sent_key_counts
               where tracker_id = $1::uuid and destination_id = $2::uuid
                 and sent_on between $3::date and $4::date
               group by event_name, match_key
             ) of_key
             group by event_name
           ) key using (event_name)
           order by name.event_name`,
    values: [trackerId, destinationId, from, until],
  })
  return rows.map(row => ({ eventName: row.event_name, events: row.events, keys: row.keys }))
}

/** What was sent to one destination for one UTC day and event name. */
export interface SentOfDay {
  eventName: string
  /** Live events accepted on the day. */
  accepted: number
  /** Those of them that happened on another day. */
  acceptedOfOtherDays: number
  /** Live events of the day that were accepted on another day. */
  acceptedOnOtherDays: number
  /** Test events of the day that were accepted on any day. */
  tests: number
  /** Attempts with events of the day and no usable answer. */
  unknownAttempts: number
}

/** All event names that were sent on the day or have events of the day, in order. */
export async function countSentOfDay(
  { pool }: Database,
  { trackerId, destinationId, day }: { trackerId: string; destinationId: string; day: string },
): Promise<SentOfDay[]> {
  const { rows } = await pool.query({
    name: 'count-sent-of-day',
    // An event is sent after it happened; the previous day covers a clock that was set back.
    text: `select event_name,
             coalesce(sum(accepted) filter (where sent_on = $3::date), 0) as accepted,
             coalesce(sum(accepted) filter (where event_on <> $3::date), 0) as of_other_days,
             coalesce(sum(accepted) filter (where sent_on <> $3::date), 0) as on_other_days,
             coalesce(sum(test) filter (where event_on = $3::date), 0) as tests,
             coalesce(sum(unknown) filter (where event_on = $3::date), 0) as unknown_attempts
           from sent_counts
           where tracker_id = $1::uuid and destination_id = $2::uuid
             and sent_on >= $3::date - 1
             and (sent_on = $3::date or event_on = $3::date)
           group by event_name order by event_name`,
    values: [trackerId, destinationId, day],
  })
  return rows.map(row => ({
    eventName: row.event_name,
    accepted: row.accepted,
    acceptedOfOtherDays: row.of_other_days,
    acceptedOnOtherDays: row.on_other_days,
    tests: row.tests,
    unknownAttempts: row.unknown_attempts,
  }))
}

/** What the settlement of some deliveries adds to the counts of what was sent. */
export interface SentTally {
  groups: SentGroup[]
  /** By delivery id. A delivery that is missing here adds nothing. */
  marks: Map<number, SentMark>
}

/** Deliveries that are counted together: one event name, one UTC day, the same identifiers. */
export interface SentGroup {
  number: number
  eventName: string
  /** The UTC day of the event's time as the platform reads it, YYYY-MM-DD. */
  eventOn: string
  /** The keys by which the platform identifies a person, in order. */
  keys: readonly string[]
}

export interface SentMark {
  groupNumber: number
  /** Attempts without a usable answer: this one, and one of a dead worker. */
  unknown: number
}

const GROUP_COLUMNS: BatchColumn<SentGroup>[] = [
  { name: 'number', type: 'integer', text: ({ number }) => String(number) },
  { name: 'event_name', type: 'text', text: ({ eventName }) => eventName },
  { name: 'event_on', type: 'date', text: ({ eventOn }) => eventOn },
  { name: 'keys', type: 'text', text: ({ keys }) => keys.join(' ') },
]

/** The parameters of `countSentExpressions`, from `firstParameter` on. */
export function countSentValues(groups: readonly SentGroup[]): string[] {
  return toArrayParameters(GROUP_COLUMNS, groups)
}

export interface CountSentParameters {
  /** As SQL, such as `$1`. */
  trackerId: string
  destinationId: string
  sentOn: string
  firstParameter: number
}

/**
 * The part of the settling statement that counts what was sent. It reads `settled`, the rows that
 * belonged to this worker, with their `group_number` and `unknown`.
 */
export function countSentExpressions(parameters: CountSentParameters): string {
  const writes = countSentWrites(parameters)
  return `${countedGroups(parameters)},
    counted_sent as (${writes.sent('counted_groups')}),
    counted_keys as (${writes.keys('counted_groups')})`
}

/**
 * The inserts into the count tables, from a source with the columns of `counted_groups`. They write
 * in the order of the keys, so that two workers cannot deadlock.
 */
export function countSentWrites({
  trackerId,
  destinationId,
  sentOn,
}: Omit<CountSentParameters, 'firstParameter'>) {
  const keyValues = `${trackerId}::uuid, ${destinationId}::uuid, ${sentOn}::date`
  const sent = (source: string) => `
      insert into sent_counts
        (tracker_id, destination_id, sent_on, event_name, event_on, slot, accepted, test, unknown)
      select ${keyValues}, event_name, event_on, ${COUNTER_SHARD},
        sum(accepted), sum(test), sum(unknown)
      from ${source} group by event_name, event_on order by event_name, event_on
      on conflict (tracker_id, destination_id, sent_on, event_name, event_on, slot) do update set
        accepted = sent_counts.accepted + excluded.accepted,
        test = sent_counts.test + excluded.test,
        unknown = sent_counts.unknown + excluded.unknown`
  const keys = (source: string) => `
      insert into sent_key_counts
        (tracker_id, destination_id, sent_on, event_name, match_key, slot, events)
      select ${keyValues}, event_name, match_key, ${COUNTER_SHARD}, sum(accepted)
      from ${source} cross join unnest(string_to_array(nullif(keys, ''), ' ')) as match_key
      where accepted > 0 group by event_name, match_key order by event_name, match_key
      on conflict (tracker_id, destination_id, sent_on, event_name, match_key, slot) do update
        set events = sent_key_counts.events + excluded.events`
  return { sent, keys }
}

/** The columns of `counted_groups`, as SQL. */
export const COUNTED_GROUP_TYPES =
  'event_on date, keys text, accepted bigint, test bigint, unknown bigint, event_name text'

const SETTLED_GROUPS = `
    settled_groups as materialized (
      select group_number,
        count(*) filter (where status = 'accepted' and not is_test) as accepted,
        count(*) filter (where status = 'accepted' and is_test) as test,
        sum(unknown) as unknown
      from settled
      where group_number is not null and (status = 'accepted' or unknown > 0)
      group by group_number
    )`

/**
 * Common table expressions that end in `counted_groups`: the groups, each with the event name under
 * which it is counted. The names of the day are counted only when one is new. Workers that add
 * names concurrently do not see each other's, so they may exceed the limit by a few.
 */
export function countedGroups(parameters: CountSentParameters): string {
  const { trackerId, destinationId, sentOn, firstParameter } = parameters
  const ofDay = `tracker_id = ${trackerId}::uuid and destination_id = ${destinationId}::uuid
    and sent_on = ${sentOn}::date`
  return `${SETTLED_GROUPS}, found_names as materialized (
      select sent.*, settled_groups.accepted, settled_groups.test, settled_groups.unknown,
        exists (
          select 1 from sent_counts where ${ofDay} and event_name = sent.event_name
        ) as is_known
      from settled_groups
      join ${unnestColumns(GROUP_COLUMNS, { alias: 'sent', firstParameter })}
        on sent.number = settled_groups.group_number
    ), counted_groups as materialized (
      select event_on, keys, accepted, test, unknown, case
        when is_known then event_name
        when (select count(distinct event_name) from sent_counts where ${ofDay})
          + dense_rank() over (partition by is_known order by event_name) <= ${COUNTED_NAMES_MAX}
          then event_name
        else '${OTHER_NAMES}' end as event_name
      from found_names
    )`
}
