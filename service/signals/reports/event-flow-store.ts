import type { Database } from '../../runtime/db/database.ts'
import { utcDay } from '../../runtime/db/sql-fragments.ts'

/** Events of one UTC day of receipt and one of their own time, under one name. */
export interface FlowEvents {
  name: string
  receivedOn: string
  eventOn: string
  /** Null for events without a value. */
  currency: string | null
  count: number
  /** Decimal text; null without a value. */
  amount: string | null
}

/** Deliveries of such events to one destination. */
export interface FlowDeliveries extends FlowEvents {
  destinationId: string | null
  status: string
  reason: string
  isTest: boolean
}

/** Accepted live deliveries by the time from receipt to the settlement. */
export interface FlowDelays {
  receivedOn: string
  eventOn: string
  destinationId: string
  /** The delay is at most `DELAY_STEP ** bucket` seconds. */
  bucket: number
  count: number
}

/** Everything that one count of a range of receipt finds. */
export interface FlowCounts {
  /** Events that the statement read. More than the rows say when there were too many groups. */
  total: number
  events: FlowEvents[]
  deliveries: FlowDeliveries[]
  delays: FlowDelays[]
}

/** Twice as wide every second bucket: a percentile is at most 41 % too high. */
export const DELAY_STEP = Math.SQRT2

/** Groups of each kind in one answer, the largest first: names are free text. */
const GROUPS_MAX = 5_000

export interface FlowRange {
  trackerId: string
  /** Received at or after this time. */
  from: Date
  /** Received before this time. */
  until: Date
}

const IN_RANGE = `tracker_id = $1::uuid
  and created_at >= $2::timestamptz and created_at < $3::timestamptz`
const DAYS = `${utcDay('event.created_at')} as received_on,
  ${utcDay('event.event_time')} as event_on`

/**
 * One snapshot: a delivery that is settled meanwhile is counted once. The event of each delivery is
 * looked up by its key: a store without statistics would compare every delivery with every event.
 */
const COUNT_FLOW = `
  with of_events as (
    select ${DAYS}, event_name, value_currency, count(*) as count, sum(value_amount) as amount,
      (sum(count(*)) over ())::bigint as total
    from events event where ${IN_RANGE}
    group by 1, 2, 3, 4 order by count(*) desc limit ${GROUPS_MAX}
  ), of_deliveries as (
    select ${DAYS}, event_name, value_currency, destination_id, status, status_reason, is_test,
      case when status = 'accepted' and not is_test then ceil(2 * ln(greatest(
        extract(epoch from updated_at - delivery.created_at), 1)::float8) / ln(2::float8))::integer
      end as bucket, count(*) as count, sum(value_amount) as amount
    from (
      select created_at, event_id, space, destination_id, status, status_reason, is_test, updated_at
      from all_deliveries where ${IN_RANGE}
    ) delivery
    cross join lateral (
      select created_at, event_time, event_name, value_currency, value_amount from events
      where tracker_id = $1::uuid and created_at = delivery.created_at
        and event_id = delivery.event_id and space = delivery.space
      limit 1
    ) event
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9 order by count(*) desc limit ${GROUPS_MAX}
  )
  select coalesce((select max(total) from of_events), 0)::bigint as total,
    (select coalesce(json_agg(json_build_array(received_on, event_on, event_name, value_currency,
       count, amount::text)), '[]'::json) from of_events) as events,
    (select coalesce(json_agg(json_build_array(received_on, event_on, event_name, value_currency,
       count, amount::text, destination_id, status, status_reason, is_test, bucket)),
       '[]'::json) from of_deliveries) as deliveries`

type EventCells = [string, string, string, string | null, number, string | null]
type DeliveryCells = [...EventCells, string | null, string, string, boolean, number | null]

/**
 * What happened to the events that were received in a range. It reads all of them, so the caller
 * limits the range: measured in docs/decisions/0058-event-flow.md.
 */
export async function countFlow(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, from, until }: FlowRange,
): Promise<FlowCounts> {
  const { rows } = await pool.query({ text: COUNT_FLOW, values: [trackerId, from, until] })
  const { total, events, deliveries } = rows[0] as {
    total: number
    events: EventCells[]
    deliveries: DeliveryCells[]
  }
  const delays = new Map<string, FlowDelays>()
  const merged = new Map<string, FlowDeliveries>()
  for (const cells of deliveries) {
    const [, , , , count, amount, destinationId, status, reason, isTest, bucket] = cells
    const delivery = { ...toEvents(cells), destinationId, status, reason, isTest }
    addTo(merged, [...cells.slice(0, 4), ...cells.slice(6, 10)], { ...delivery, count, amount })
    if (bucket === null || destinationId === null) continue
    const { receivedOn, eventOn } = delivery
    const key = JSON.stringify([receivedOn, eventOn, destinationId, bucket])
    const known = delays.get(key)
    if (known) known.count += count
    else delays.set(key, { receivedOn, eventOn, destinationId, bucket, count })
  }
  return {
    total,
    events: events.map(toEvents),
    deliveries: [...merged.values()],
    delays: [...delays.values()],
  }
}

function toEvents(cells: EventCells | DeliveryCells): FlowEvents {
  const [receivedOn, eventOn, name, currency, count, amount] = cells
  return { receivedOn, eventOn, name, currency, count, amount }
}

function addTo(rows: Map<string, FlowDeliveries>, cells: unknown[], row: FlowDeliveries): void {
  const key = JSON.stringify(cells)
  const known = rows.get(key)
  if (!known) {
    rows.set(key, row)
    return
  }
  known.count += row.count
  known.amount = addAmounts(known.amount, row.amount)
}

/** The exact sum of two decimal texts; null is no value. */
export function addAmounts(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other
  const scale = Math.max(...[one, other].map(text => text.split('.')[1]?.length ?? 0))
  const sum = toUnits(one, scale) + toUnits(other, scale)
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const sign = sum < 0n ? '-' : ''
  return `${sign}${whole}${scale > 0 ? `.${digits.slice(-scale)}` : ''}`
}

function toUnits(amount: string, scale: number): bigint {
  const [whole = '0', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(scale, '0'))
}

/** The events of a UTC day of receipt, as acceptance counts them. */
export interface ReceiptDay {
  day: string
  events: number
  /** Live deliveries that a platform accepted. */
  accepted: number
}

/** By the primary keys of the two counts. Days without an event are left out. */
export async function readReceiptDays(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, from, until }: { trackerId: string; from: string; until: string },
): Promise<ReceiptDay[]> {
  const { rows } = await pool.query({
    name: 'read-receipt-days',
    text: `select received_on as day, sum(events)::bigint as events,
             coalesce((select sum(accepted) from delivery_counts
               where tracker_id = $1::uuid and planned_on = received_on), 0)::bigint as accepted
           from event_counts
           where tracker_id = $1::uuid and received_on between $2::date and $3::date
           group by received_on having sum(events) > 0 order by received_on`,
    values: [trackerId, from, until],
  })
  return rows
}

/** A day of receipt as a job counted it. */
export interface CountedDay {
  day: string
  countedUntil: Date
  countedAt: Date
  events: number
  accepted: number
  waiting: number
  milliseconds: number
}

const COUNTED_COLUMNS = `received_on as day, counted_until as "countedUntil",
  counted_at as "countedAt", events, accepted, waiting, milliseconds`
const OF_DAYS = `from event_flow_days
  where tracker_id = $1::uuid and received_on between $2::date and $3::date`

export async function findCountedDays(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, from, until }: { trackerId: string; from: string; until: string },
): Promise<CountedDay[]> {
  const { rows } = await pool.query({
    name: 'find-counted-flow-days',
    text: `select ${COUNTED_COLUMNS} ${OF_DAYS}`,
    values: [trackerId, from, until],
  })
  return rows
}

export async function readCountedDays(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, from, until }: { trackerId: string; from: string; until: string },
): Promise<(CountedDay & { flow: FlowCounts })[]> {
  const { rows } = await pool.query({
    name: 'read-counted-flow-days',
    text: `select ${COUNTED_COLUMNS}, flow ${OF_DAYS}`,
    values: [trackerId, from, until],
  })
  return rows
}

/** Replaces the count of a day, unless another process has a later one. */
export async function writeCountedDay(
  { pool }: Pick<Database, 'pool'>,
  trackerId: string,
  counted: CountedDay & { flow: FlowCounts },
): Promise<void> {
  await pool.query({
    text: `insert into event_flow_days (tracker_id, received_on, counted_until, counted_at, events,
             accepted, waiting, milliseconds, flow)
           values ($1::uuid, $2::date, $3::timestamptz, $4::timestamptz, $5::integer, $6::integer,
             $7::integer, $8::integer, $9::json)
           on conflict (tracker_id, received_on) do update set
             counted_until = excluded.counted_until, counted_at = excluded.counted_at,
             events = excluded.events, accepted = excluded.accepted, waiting = excluded.waiting,
             milliseconds = excluded.milliseconds, flow = excluded.flow
           where event_flow_days.counted_at < excluded.counted_at`,
    values: [
      ...[trackerId, counted.day, counted.countedUntil, counted.countedAt, counted.events],
      ...[counted.accepted, counted.waiting, counted.milliseconds, JSON.stringify(counted.flow)],
    ],
  })
}

/** A page of all trackers, in order. */
export async function listTrackerIds(
  { pool }: Pick<Database, 'pool'>,
  after: string,
  limit: number,
): Promise<string[]> {
  const text = `select id from trackers where id > $1::uuid order by id limit $2::integer`
  const values = [after, limit]
  const { rows } = await pool.query({ name: 'list-tracker-ids', text, values })
  return rows.map(({ id }) => id)
}

/** A day with fewer events is counted when a page asks for it, and not by the job. */
export const COUNTED_EVENTS_MIN = 500

/** Those with a day that has no document, other counts than it, or deliveries that waited. */
export async function findTrackersToCount(
  { pool }: Pick<Database, 'pool'>,
  { trackerIds, from, until }: { trackerIds: readonly string[]; from: string; until: string },
): Promise<string[]> {
  const values = [trackerIds, from, until]
  const text = FIND_TRACKERS_TO_COUNT
  const { rows } = await pool.query({ name: 'find-trackers-to-count', text, values })
  return rows.map(({ id }) => id)
}

const FIND_TRACKERS_TO_COUNT = `
  with of_events as (
    select tracker_id, received_on, sum(events) as events from event_counts
    where tracker_id = any($1::uuid[]) and received_on between $2::date and $3::date
    group by tracker_id, received_on having sum(events) >= ${COUNTED_EVENTS_MIN}
  ), of_deliveries as (
    select tracker_id, planned_on, sum(accepted) as accepted from delivery_counts
    where tracker_id = any($1::uuid[]) and planned_on between $2::date and $3::date
    group by tracker_id, planned_on
  )
  select distinct of_events.tracker_id as id
  from of_events
  left join of_deliveries on of_deliveries.tracker_id = of_events.tracker_id
    and of_deliveries.planned_on = of_events.received_on
  left join event_flow_days counted on counted.tracker_id = of_events.tracker_id
    and counted.received_on = of_events.received_on
  where counted.events is distinct from of_events.events or counted.waiting > 0
    or counted.accepted is distinct from coalesce(of_deliveries.accepted, 0)`
