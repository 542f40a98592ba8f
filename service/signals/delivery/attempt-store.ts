import type { Database } from '../../runtime/db/database.ts'
import {
  arrayLiteral,
  type BatchColumn,
  COUNTER_SHARD,
  toArrayParameters,
  unnestColumns,
} from '../../runtime/db/sql-fragments.ts'
import type { SendAnswer, SendOutcome } from '../platforms/platform.ts'
import { OTHER_NAMES } from './sent-counts-store.ts'

export interface SendAttempt {
  trackerId: string
  id: string
  destinationId: string
  startedAt: Date
  durationMilliseconds: number
  eventCount: number
  isTest: boolean
  result: SendAnswer
}

/** Stores one request to the platform and its answer. Idempotent. */
export async function insertAttempt({ query }: Database, attempt: SendAttempt): Promise<void> {
  const { outcome, httpStatus, traceId, answer } = attempt.result
  await query
    .insertInto('send_attempts')
    .values({
      tracker_id: attempt.trackerId,
      id: attempt.id,
      destination_id: attempt.destinationId,
      started_at: attempt.startedAt,
      duration_milliseconds: Math.round(attempt.durationMilliseconds),
      event_count: attempt.eventCount,
      is_test: attempt.isTest,
      outcome,
      http_status: httpStatus,
      trace_id: traceId,
      answer: answer && JSON.stringify(answer),
    })
    .onConflict(conflict => conflict.columns(['tracker_id', 'id']).doNothing())
    .execute()
}

export interface StoredAttempt {
  id: string
  startedAt: Date
  durationMilliseconds: number
  eventCount: number
  outcome: SendOutcome
  httpStatus: number | null
  traceId: string | null
  answer: Record<string, unknown> | null
}

/** The requests with these ids, oldest first, without those that have expired. */
export async function findAttempts(
  { pool }: Database,
  trackerId: string,
  ids: readonly string[],
): Promise<StoredAttempt[]> {
  if (ids.length === 0) return []
  const { rows } = await pool.query({
    text: `select attempt.* from unnest($2::uuid[]) as given(id)
           cross join lateral (
             select * from send_attempts where tracker_id = $1::uuid and id = given.id limit 1
           ) attempt
           order by started_at, id`,
    values: [trackerId, arrayLiteral(ids)],
  })
  return rows.map(row => ({
    id: row.id,
    startedAt: row.started_at,
    durationMilliseconds: row.duration_milliseconds,
    eventCount: row.event_count,
    outcome: row.outcome,
    httpStatus: row.http_status,
    traceId: row.trace_id,
    answer: row.answer,
  }))
}

/**
 * Clears the platform's answers to these requests, which may repeat what was sent. Their times and
 * outcomes stay. Locks in order, so that two erasures do not deadlock.
 */
export async function clearAnswers(
  { pool }: Database,
  trackerId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await pool.query({
    text: `with answered as materialized (
             select attempt.tracker_id, attempt.id
             from (select id from unnest($2::uuid[]) as given(id) order by id) given
             cross join lateral (
               select tracker_id, id from send_attempts
               where tracker_id = $1::uuid and id = given.id and answer is not null
               limit 1 for update
             ) attempt
           )
           update send_attempts set answer = null from answered
           where send_attempts.tracker_id = answered.tracker_id
             and send_attempts.id = answered.id`,
    values: [trackerId, arrayLiteral(ids)],
  })
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
  /** Of the values; null or left out without one. */
  currency?: string | null
}

export interface SentMark {
  groupNumber: number
  /** Attempts without a usable answer: this one, and one of a dead worker. */
  unknown: number
  /** Its value in the currency of its group, as decimal text; null or left out without one. */
  amount?: string | null
}

const GROUP_COLUMNS: BatchColumn<SentGroup>[] = [
  { name: 'number', type: 'integer', text: ({ number }) => String(number) },
  { name: 'event_name', type: 'text', text: ({ eventName }) => eventName },
  { name: 'event_on', type: 'date', text: ({ eventOn }) => eventOn },
  { name: 'keys', type: 'text', text: ({ keys }) => keys.join(' ') },
  { name: 'currency', type: 'text', text: ({ currency }) => currency ?? null },
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
 * belonged to this worker, with their `group_number`, `unknown` and `amount`.
 */
export function countSentExpressions(parameters: CountSentParameters): string {
  const writes = countSentWrites(parameters)
  return `${countedGroups(parameters)},
    counted_sent as (${writes.sent('counted_groups')}),
    counted_keys as (${writes.keys('counted_groups')}),
    counted_values as (${writes.values('counted_groups')})`
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
  const values = (source: string) => `
      insert into sent_value_counts
        (tracker_id, destination_id, sent_on, event_name, currency, slot, events, amount)
      select ${keyValues}, event_name, currency, ${COUNTER_SHARD}, sum(valued), sum(amount)
      from ${source} where valued > 0 and currency is not null
      group by event_name, currency order by event_name, currency
      on conflict (tracker_id, destination_id, sent_on, event_name, currency, slot) do update set
        events = sent_value_counts.events + excluded.events,
        amount = sent_value_counts.amount + excluded.amount`
  return { sent, keys, values }
}

/** The columns of `counted_groups`, as SQL. */
export const COUNTED_GROUP_TYPES =
  'event_on date, keys text, accepted bigint, test bigint, unknown bigint, currency text, ' +
  'valued bigint, amount numeric, event_name text'

/** Event names counted per day and destination; the platform lists a hundred. */
const COUNTED_NAMES_MAX = 200

const SETTLED_GROUPS = `
    settled_groups as materialized (
      select group_number,
        count(*) filter (where status = 'accepted' and not is_test) as accepted,
        count(*) filter (where status = 'accepted' and is_test) as test,
        sum(unknown) as unknown,
        count(amount) filter (where status = 'accepted' and not is_test) as valued,
        sum(amount) filter (where status = 'accepted' and not is_test) as amount
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
        settled_groups.valued, settled_groups.amount,
        exists (
          select 1 from sent_counts where ${ofDay} and event_name = sent.event_name
        ) as is_known
      from settled_groups
      join ${unnestColumns(GROUP_COLUMNS, { alias: 'sent', firstParameter })}
        on sent.number = settled_groups.group_number
    ), counted_groups as materialized (
      select event_on, keys, accepted, test, unknown, currency, valued, amount, case
        when is_known then event_name
        when (select count(distinct event_name) from sent_counts where ${ofDay})
          + dense_rank() over (partition by is_known order by event_name) <= ${COUNTED_NAMES_MAX}
          then event_name
        else '${OTHER_NAMES}' end as event_name
      from found_names
    )`
}
