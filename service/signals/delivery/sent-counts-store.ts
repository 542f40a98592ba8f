import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'

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
