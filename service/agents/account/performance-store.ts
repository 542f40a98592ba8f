import { type Database, queryByTracker } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'
import { OTHER_NAMES } from '../../signals/delivery/sent-counts-store.ts'

interface DayCount {
  /** UTC day, YYYY-MM-DD. */
  day: string
  events: number
}

/** Events of these trackers by UTC day of receipt, newest first. */
export async function countReceivedByDay(
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

export interface EventFigure {
  eventName: string
  /** Null for events without an amount or currency. */
  currency: string | null
  events: number
  /** Decimal text; null if no event has an amount. */
  amount: string | null
}

interface EventFigureQuery {
  trackerIds: readonly string[]
  /** Start of the first day. */
  since: Date
  /** End of the last day, exclusive; null for now. */
  until: Date | null
  /** Limit of distinct event names; rarer ones are combined. */
  namesMax: number
}

/**
 * Conversions that occurred since a given time, by name and currency. An event is never received
 * before it occurs, so each tracker reads one range of the index by receipt time. Late events of
 * earlier days are filtered out.
 */
export async function sumConversions(
  { pool }: Database,
  { trackerIds, since, until, namesMax }: EventFigureQuery,
): Promise<EventFigure[]> {
  const { rows } = await pool.query({
    name: 'sum-ledger',
    text: `with figures as (
             select event_name, value_currency, count(*) as events, sum(value_amount) as amount
             from events
             where tracker_id = any($1::uuid[]) and created_at >= $2::timestamptz
               and event_time >= $2::timestamptz
               and ($4::timestamptz is null or event_time < $4::timestamptz)
               and coalesce(event_class, 'conversion') = 'conversion'
             group by event_name, value_currency
           ), ranks as (
             select event_name, row_number() over (order by sum(events) desc, event_name) as rank
             from figures group by event_name
           )
           select
             case when rank <= $3::integer then event_name else '${OTHER_NAMES}' end as event_name,
             value_currency, sum(events)::bigint as events, sum(amount)::text as amount
           from figures join ranks using (event_name)
           group by 1, 2 order by 1, 2`,
    values: [arrayLiteral(trackerIds), since, namesMax, until],
  })
  return rows.map(row => ({
    eventName: row.event_name,
    currency: row.value_currency,
    events: row.events,
    amount: row.amount,
  }))
}

interface DayFigure {
  /** UTC day, YYYY-MM-DD. */
  day: string
  currency: string | null
  purchases: number
  /** Decimal text; null if no event has an amount. */
  amount: string | null
}

/** Purchases that occurred since a given time, by UTC day and currency. */
export async function sumPurchasesByDay(
  { pool }: Database,
  trackerIds: readonly string[],
  since: Date,
): Promise<DayFigure[]> {
  const { rows } = await pool.query({
    name: 'sum-purchases-by-day',
    text: `select (event_time at time zone 'UTC')::date::text as day, value_currency,
             count(*)::bigint as purchases, sum(value_amount)::text as amount
           from events
           where tracker_id = any($1::uuid[]) and created_at >= $2::timestamptz
             and event_time >= $2::timestamptz and event_name = 'Purchase'
             and coalesce(event_class, 'conversion') = 'conversion'
           group by 1, 2 order by 1, 2`,
    values: [arrayLiteral(trackerIds), since],
  })
  return rows.map(({ day, value_currency: currency, purchases, amount }) => ({
    day,
    currency,
    purchases,
    amount,
  }))
}

interface AcceptedQuery {
  /** Parallel arrays: the tracker of each destination. Each destination is one statement. */
  trackerIds: readonly string[]
  destinationIds: readonly string[]
  /** UTC day, YYYY-MM-DD. */
  sinceDay: string
  untilDay: string
}

/**
 * Accepted live events that occurred on some days, by name, from the stored counts. An event
 * that several destinations of a tracker accepted counts once.
 */
export async function countAcceptedByName(
  database: Database,
  { trackerIds, destinationIds, ...days }: AcceptedQuery,
): Promise<Map<string, number>> {
  const ofTrackers = new Map<string, Map<string, number>>()
  for (const [index, trackerId] of trackerIds.entries()) {
    const destinationId = destinationIds[index] as string
    const ofTracker = ofTrackers.get(trackerId) ?? new Map<string, number>()
    ofTrackers.set(trackerId, ofTracker)
    for (const row of await countAcceptedByDestination(database, {
      trackerId,
      destinationId,
      ...days,
    })) {
      ofTracker.set(row.name, Math.max(row.accepted, ofTracker.get(row.name) ?? 0))
    }
  }
  const total = new Map<string, number>()
  for (const [name, accepted] of [...ofTrackers.values()].flatMap(ofTracker => [...ofTracker])) {
    total.set(name, accepted + (total.get(name) ?? 0))
  }
  return total
}

async function countAcceptedByDestination(
  { pool }: Database,
  query: { trackerId: string; destinationId: string; sinceDay: string; untilDay: string },
): Promise<{ name: string; accepted: number }[]> {
  const { rows } = await pool.query({
    name: 'count-accepted-by-name',
    text: `select event_name as name, sum(accepted)::bigint as accepted from sent_counts
           where tracker_id = $1::uuid and destination_id = $2::uuid
             and sent_on >= $3::date and event_on between $3::date and $4::date
           group by event_name having sum(accepted) > 0`,
    values: [query.trackerId, query.destinationId, query.sinceDay, query.untilDay],
  })
  return rows
}

/** Counts of the platform and of ours on one UTC day for one destination, by event name. */
export interface ReportedDay {
  destinationId: string
  day: string
  platform: Record<string, number>
  ours: Record<string, number>
}

interface ReportedDaysQuery {
  /** Parallel arrays: the tracker of each destination. */
  trackerIds: readonly string[]
  destinationIds: readonly string[]
  /** UTC days, YYYY-MM-DD, inclusive. */
  since: string
  until: string
}

/**
 * The days for which the platform reported counts. They are parsed here, because SQL operators fail
 * on an escaped NUL in a name.
 */
export async function findReportedDays(
  database: Database,
  { trackerIds, destinationIds, since, until }: ReportedDaysQuery,
): Promise<ReportedDay[]> {
  const pairs = trackerIds.map((trackerId, index) => {
    return { trackerId, destinationId: destinationIds[index] as string }
  })
  const rows = await queryByTracker(database, pairs, async (batch, own) => {
    const found = await database.pool.query({
      name: 'find-reported-days',
      text: `select report.destination_id, report.report_date, report.event_counts,
               report.details
             from unnest($1::uuid[], $2::uuid[]) destination(tracker_id, destination_id)
             cross join lateral (
               select * from reconciliation_reports
               where reconciliation_reports.tracker_id = destination.tracker_id
                 and reconciliation_reports.destination_id = destination.destination_id
                 and report_date between $3::date and $4::date and status <> 'unavailable'
                 ${own.condition('reconciliation_reports.tracker_id', 5)}
             ) report`,
      values: [
        arrayLiteral(batch.map(({ trackerId }) => trackerId)),
        arrayLiteral(batch.map(({ destinationId }) => destinationId)),
        since,
        until,
        ...own.values,
      ],
    })
    return found.rows
  })
  // A platform that tells the results of requests has no count of a name, which is not zero.
  const named = rows.filter(row => row.details?.countSource?.source !== 'request_results')
  return named.map(row => ({
    destinationId: row.destination_id,
    day: row.report_date,
    platform: row.event_counts.meta,
    ours: row.event_counts.accepted,
  }))
}
