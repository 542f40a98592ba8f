import type { Database } from '../../db/database.ts'
import { arrayLiteral } from '../../db/row-arrays.ts'
import { OTHER_NAMES } from '../../delivery/sent-counts-store.ts'

export interface DayCount {
  /** UTC day, YYYY-MM-DD. */
  day: string
  events: number
}

/** How many events of these trackers came in on each UTC day, the newest first. */
export async function countReceived(
  { pool }: Database,
  trackerIds: readonly string[],
  sinceDay: string,
): Promise<DayCount[]> {
  const { rows } = await pool.query({
    name: 'count-received-by-day',
    text: `select received_on, sum(events)::bigint as events from event_counts
           where tracker_id = any($1::uuid[]) and received_on >= $2::date
           group by received_on order by received_on desc`,
    values: [arrayLiteral(trackerIds), sinceDay],
  })
  return rows.map(row => ({ day: row.received_on, events: row.events }))
}

export interface LedgerFigure {
  eventName: string
  /** Null: events without an amount, or with one in no currency. */
  currency: string | null
  events: number
  /** Decimal text; null when none of them has an amount. */
  amount: string | null
}

export interface LedgerSpan {
  trackerIds: readonly string[]
  /** The beginning of the first day. */
  since: Date
  /** Event names that are told apart; the rarer ones are one. */
  namesMax: number
}

/**
 * Conversions that happened since a moment, by name and currency. Nothing is received before it has
 * happened, so each tracker is one range of the index by receipt, and what came in late, of days
 * before, is left out of it.
 */
export async function sumLedger(
  { pool }: Database,
  { trackerIds, since, namesMax }: LedgerSpan,
): Promise<LedgerFigure[]> {
  const { rows } = await pool.query({
    name: 'sum-ledger',
    text: `with figures as (
             select event_name, value_currency, count(*) as events, sum(value_amount) as amount
             from events
             where tracker_id = any($1::uuid[]) and created_at >= $2::timestamptz
               and event_time >= $2::timestamptz
               and coalesce(event_class, 'conversion') = 'conversion'
             group by event_name, value_currency
           ), places as (
             select event_name, row_number() over (order by sum(events) desc, event_name) as place
             from figures group by event_name
           )
           select
             case when place <= $3::integer then event_name else '${OTHER_NAMES}' end as event_name,
             value_currency, sum(events)::bigint as events, sum(amount)::text as amount
           from figures join places using (event_name)
           group by 1, 2 order by 1, 2`,
    values: [arrayLiteral(trackerIds), since, namesMax],
  })
  return rows.map(row => ({
    eventName: row.event_name,
    currency: row.value_currency,
    events: row.events,
    amount: row.amount,
  }))
}

export interface AcceptedSpan {
  /** Pairs of the same length: whose destination; each is asked for with a statement of its own. */
  trackerIds: readonly string[]
  destinationIds: readonly string[]
  /** UTC day, YYYY-MM-DD. */
  sinceDay: string
}

/**
 * Live events that happened since a day and that the platform took, by name, from the kept counts.
 * What several destinations of one tracker took counts once.
 */
export async function countAccepted(
  database: Database,
  { trackerIds, destinationIds, sinceDay }: AcceptedSpan,
): Promise<Map<string, number>> {
  const ofTrackers = new Map<string, Map<string, number>>()
  for (const [index, trackerId] of trackerIds.entries()) {
    const destinationId = destinationIds[index] as string
    const ofTracker = ofTrackers.get(trackerId) ?? new Map<string, number>()
    ofTrackers.set(trackerId, ofTracker)
    for (const row of await countTaken(database, { trackerId, destinationId, sinceDay })) {
      ofTracker.set(row.name, Math.max(row.accepted, ofTracker.get(row.name) ?? 0))
    }
  }
  const total = new Map<string, number>()
  for (const [name, accepted] of [...ofTrackers.values()].flatMap(ofTracker => [...ofTracker])) {
    total.set(name, accepted + (total.get(name) ?? 0))
  }
  return total
}

/** What one destination took, by name. */
async function countTaken(
  { pool }: Database,
  lane: { trackerId: string; destinationId: string; sinceDay: string },
): Promise<{ name: string; accepted: number }[]> {
  const { rows } = await pool.query({
    name: 'count-accepted-by-name',
    text: `select event_name as name, sum(accepted)::bigint as accepted from sent_counts
           where tracker_id = $1::uuid and destination_id = $2::uuid
             and sent_on >= $3::date and event_on >= $3::date
           group by event_name having sum(accepted) > 0`,
    values: [lane.trackerId, lane.destinationId, lane.sinceDay],
  })
  return rows
}
