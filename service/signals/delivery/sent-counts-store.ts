import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import { DELIVERY_STATUSES, type DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import { ALL_DELIVERY_REASONS, type DeliveryReason } from '@signalbox/contract/reasons.ts'
import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral, COUNTER_SHARD, utcDay } from '../../runtime/db/sql-fragments.ts'

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
               group by event_name, match_key having sum(events) > 0
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

/** The value of the live events of one name and currency that were accepted on a day. */
export interface SentValue {
  eventName: string
  currency: string
  /** Those that have a value. */
  events: number
  /** Exact decimal text. */
  amount: string
}

/** A UTC day of one destination. */
interface DayQuery {
  trackerId: string
  destinationId: string
  day: string
}

/** Read by the primary key: a few rows for each name and currency. */
export async function sumSentValues(
  { pool }: Database,
  { trackerId, destinationId, day }: DayQuery,
): Promise<SentValue[]> {
  const { rows } = await pool.query({
    name: 'sum-sent-values',
    text: `select event_name, currency, sum(events) as events, sum(amount)::text as amount
           from sent_value_counts
           where tracker_id = $1::uuid and destination_id = $2::uuid and sent_on = $3::date
           group by event_name, currency having sum(events) > 0
           order by event_name, currency`,
    values: [trackerId, destinationId, day],
  })
  return rows.map(({ event_name: eventName, ...row }) => ({ eventName, ...row }))
}

interface OutcomeSource {
  /** The name of a common table expression, or another source. */
  source: string
  /** The rest as SQL, over the rows of the source. */
  trackerId: string
  destinationId: string
  /** The time at which they reached the outcome. */
  at: string
  status?: string
  reason?: string
  where?: string
  change?: 'count(*)' | '-count(*)'
}

/**
 * SQL that adds live deliveries to the outcomes of their destination and day, or takes them out
 * again, in the order of the keys.
 */
function countOutcomes(rows: OutcomeSource): string {
  const { source, trackerId, destinationId, at, where = 'true', change = 'count(*)' } = rows
  const { status = 'status', reason = 'coalesce(status_reason, status)' } = rows
  return `
    insert into destination_outcomes
      (tracker_id, destination_id, day, status, reason, slot, count)
    select ${trackerId}, ${destinationId}, ${utcDay(at)}, ${status}, ${reason}, ${COUNTER_SHARD},
      ${change}
    from ${source} where not is_test and destination_id is not null and ${where}
    group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (tracker_id, destination_id, day, status, reason, slot) do update set
      count = destination_outcomes.count + excluded.count`
}

/** The outcomes of deliveries that are final from the start. */
export const countPlannedOutcomes = (source: string) =>
  countOutcomes({
    source,
    trackerId: 'tracker_id',
    destinationId: 'destination_id',
    at: 'created_at',
    where: `status <> 'queued'`,
  })

/** The outcomes of a settlement; what was accepted is in `sent_counts`. */
export const countSettledOutcomes = (
  source: string,
  { trackerId, destinationId, at }: { trackerId: string; destinationId: string; at: string },
) =>
  countOutcomes({
    source: `(select ${destinationId}::uuid as destination_id, status, status_reason, is_test
      from ${source}) own`,
    trackerId: `${trackerId}::uuid`,
    destinationId: 'destination_id',
    at: `${at}::timestamptz`,
    where: `(status = 'expired' or status like 'failed:%' or status like 'skipped:%')`,
  })

/** Waiting deliveries that are skipped; `$1` is the tracker. */
export const countSkippedOutcomes = (
  source: string,
  { reason, at }: { reason: string; at: string },
) =>
  countOutcomes({
    source,
    trackerId: '$1::uuid',
    destinationId: 'destination_id',
    at: `${at}::timestamptz`,
    status: `'skipped:consent'`,
    reason: `${reason}::text`,
  })

/** Deliveries that left an outcome, such as by a replay. They were counted at `updated_at`. */
export const uncountOutcomes = (source: string) =>
  countOutcomes({
    source,
    trackerId: 'tracker_id',
    destinationId: 'destination_id',
    at: 'coalesce(updated_at, created_at)',
    change: '-count(*)',
  })

/** Live deliveries of a day that were not accepted. */
export interface DayOutcome {
  status: Stored<DeliveryStatus>
  reason: Stored<DeliveryReason>
  count: number
}

/** The largest first. */
export async function readOutcomes(
  { pool }: Database,
  { trackerId, destinationId, day }: DayQuery,
): Promise<DayOutcome[]> {
  const { rows } = await pool.query({
    name: 'read-outcomes',
    text: `select status, reason, sum(count) as count from destination_outcomes
           where tracker_id = $1::uuid and destination_id = $2::uuid and day = $3::date
           group by status, reason having sum(count) > 0
           order by sum(count) desc, status, reason`,
    values: [trackerId, destinationId, day],
  })
  return rows.map(({ status, reason, count }) => ({
    status: parseStored(DELIVERY_STATUSES, status),
    reason: parseStored(ALL_DELIVERY_REASONS, reason),
    count,
  }))
}

/** A test purchase that is older than this counts as none. */
const TEST_PURCHASE_DAYS = 90

interface TestPurchaseQuery {
  trackerId: string
  destinationIds: readonly string[]
  /** A UTC day, YYYY-MM-DD. */
  today: string
}

/** Whether a platform accepted a test purchase recently: one index lookup for each day. */
export async function hasAcceptedTestPurchase(
  { pool }: Database,
  { trackerId, destinationIds, today }: TestPurchaseQuery,
): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'has-accepted-test-purchase',
    text: `select 1 from unnest($2::uuid[]) as given(id)
           join destinations on destinations.tracker_id = $1::uuid and destinations.id = given.id
           cross join generate_series(0, ${TEST_PURCHASE_DAYS}) as days_ago
           cross join lateral (
             select 1 from sent_counts
             where tracker_id = $1::uuid and destination_id = given.id
               and sent_on = $3::date - days_ago and test > 0 and event_name in (
                 'Purchase', destinations.routing -> 'event_names' ->> 'Purchase')
             limit 1
           ) counted
           limit 1`,
    values: [trackerId, arrayLiteral(destinationIds), today],
  })
  return rows.length > 0
}
