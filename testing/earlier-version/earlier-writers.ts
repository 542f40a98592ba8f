import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ACCEPT_EVENTS, buildAcceptanceValues, type EarlierEvent } from './accept-events.ts'
import type { EarlierStore } from './earlier-store.ts'

const CLAIM = readFileSync(join(import.meta.dirname, 'claim-deliveries.sql'), 'utf8')

/** The error code with which the version gate refuses a writer of an earlier version. */
export const REFUSED = '57P03'

/** Everything that the earlier version acknowledged; the upgrade must keep it. */
export interface Acknowledged {
  events: Map<string, EarlierEvent>
  /** By `deliveryKey`: the row as returned by the last statement that changed it. */
  deliveries: Map<string, DeliveryRow>
  /** Keys of events that were erased. */
  erased: Set<string>
}

export interface DeliveryRow {
  tracker_id: string
  event_id: string
  id: number
  [column: string]: unknown
}

export function createAcknowledged(): Acknowledged {
  return { events: new Map(), deliveries: new Map(), erased: new Set() }
}

export function eventKey({ trackerId, eventId }: { trackerId: string; eventId: string }): string {
  return `${trackerId} ${eventId}`
}

export function deliveryKey({ tracker_id, id }: DeliveryRow): string {
  return `${tracker_id} ${id}`
}

/** Stores events like version 0.5. Returns the number of duplicates. */
export async function accept(
  { pool }: EarlierStore,
  events: readonly EarlierEvent[],
  known: Acknowledged,
): Promise<number> {
  const { rows } = await pool.query({
    name: 'insert-events',
    text: ACCEPT_EVENTS,
    values: buildAcceptanceValues(events),
  })
  const old = new Set(rows.map(row => `${row.tracker_id} ${row.event_id}`))
  for (const event of events)
    if (!old.has(eventKey(event))) known.events.set(eventKey(event), event)
  return old.size
}

/** Claims deliveries like version 0.5, and settles most: accepted, failed or retrying. */
export async function deliver(
  { pool }: EarlierStore,
  trackerId: string,
  known: Acknowledged,
): Promise<void> {
  const keys = await claim(pool, trackerId, known)
  recordDeliveries(
    known,
    await pool.query(
      `update deliveries set leased_until = null, updated_at = now(),
         status = (array['accepted', 'failed:permanent', 'accepted', 'retrying'])[1 + id % 4],
         next_attempt_at = case when id % 4 = 3 then now() + interval '1 hour' end,
         replayable_until = case when id % 4 = 1 then now() + interval '7 days' end,
         attempt_ids = attempt_ids || gen_random_uuid(), last_error = '{"code":1}'
       where ${MATCHING_KEYS} and leased_until is not null and id % 10 <> 9 returning *`,
      keys,
    ),
  )
}

/** Claims and reads in one transaction, so that the switchover cannot happen in between. */
async function claim(pool: EarlierStore['pool'], trackerId: string, known: Acknowledged) {
  const client = await pool.connect()
  let isBroken = true
  try {
    await client.query('begin')
    const { rows } = await client.query({
      name: 'claim-deliveries',
      text: CLAIM,
      values: [trackerId, trackerId, new Date(), 20, 60, ['queued', 'retrying', 'sent']],
    })
    const keys = [trackerId, rows.map(row => row.event_id), rows.map(row => row.id)]
    const claimed = await client.query(`select * from deliveries where ${MATCHING_KEYS}`, keys)
    await client.query('commit')
    isBroken = false
    recordDeliveries(known, claimed)
    return keys
  } finally {
    client.release(isBroken)
  }
}

const MATCHING_KEYS = `tracker_id = $1 and (event_id, id) in (
  select * from unnest($2::text[], $3::integer[]))`

/** Replays the failed deliveries of a tracker like version 0.5. */
export async function replay(
  { pool }: EarlierStore,
  { trackerId, limit }: { trackerId: string; limit: number },
  known: Acknowledged,
): Promise<void> {
  recordDeliveries(
    known,
    await pool.query(
      `with failed as (
         select tracker_id, event_id, id from deliveries
         where tracker_id = $1 and replayable_until is not null
         order by replayable_until desc limit $2 for update skip locked
       )
       update deliveries set status = 'queued', next_attempt_at = now() + interval '1 day',
         replayable_until = null, replayed_at = now(), attempts_before_replay = attempt_count
       from failed
       where deliveries.tracker_id = failed.tracker_id
         and deliveries.event_id = failed.event_id and deliveries.id = failed.id
       returning deliveries.*`,
      [trackerId, limit],
    ),
  )
}

/** Erases the events with an email digest like version 0.5. */
export async function erase(
  { pool }: EarlierStore,
  { trackerId, email }: { trackerId: string; email: string },
  known: Acknowledged,
): Promise<void> {
  const { rows } = await pool.query(
    `with gone as (
       delete from event_payloads
       where tracker_id = $1 and user_data -> 'digests' -> 'em' ->> 0 = $2
       returning tracker_id, event_id
     ), stripped as (
       update events set body_digest = '' from gone
       where events.tracker_id = gone.tracker_id and events.event_id = gone.event_id
     )
     select * from gone`,
    [trackerId, email],
  )
  for (const row of rows) {
    known.erased.add(eventKey({ trackerId: row.tracker_id, eventId: row.event_id }))
  }
}

/** Deletes a batch of a tracker's events from before the cutoff day, like version 0.5. */
export async function expire(
  { pool }: EarlierStore,
  { trackerId, cutoff, limit }: { trackerId: string; cutoff: string; limit: number },
  known: Acknowledged,
): Promise<number> {
  const { rows } = await pool.query(
    `with due as materialized (
       select tracker_id, event_id, created_at from events
       where tracker_id = $1 and created_at < $2::date::timestamp at time zone 'UTC'
       order by created_at, event_id limit $3 for update skip locked
     ), gone as (
       delete from events using due
       where events.tracker_id = due.tracker_id and events.event_id = due.event_id
       returning events.tracker_id, events.event_id, events.created_at
     ), uncounted as (
       insert into event_counts (tracker_id, received_on, slot, events)
       select $1::uuid, (created_at at time zone 'UTC')::date, 0, -count(*) from gone group by 2
       on conflict (tracker_id, received_on, slot) do update
         set events = event_counts.events + excluded.events
     ), gone_deliveries as (
       delete from deliveries using gone
       where deliveries.tracker_id = gone.tracker_id and deliveries.event_id = gone.event_id
       returning deliveries.tracker_id, deliveries.id, deliveries.created_at, deliveries.status
     ), uncounted_plans as (
       insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
       select $1::uuid, (created_at at time zone 'UTC')::date, 0, -count(*), 0
       from gone_deliveries where status not like 'skipped:%' group by 2
       on conflict (tracker_id, planned_on, slot) do update
         set planned = delivery_counts.planned + excluded.planned
     )
     select event_id, array(select id from gone_deliveries) as ids from gone`,
    [trackerId, cutoff, limit],
  )
  for (const row of rows) known.events.delete(eventKey({ trackerId, eventId: row.event_id }))
  for (const id of rows[0]?.ids ?? []) known.deliveries.delete(`${trackerId} ${id}`)
  return rows.length
}

/** Records every stored delivery as acknowledged. */
export async function rememberDeliveries({ pool }: EarlierStore, known: Acknowledged) {
  recordDeliveries(known, await pool.query('select * from deliveries'))
}

function recordDeliveries(known: Acknowledged, { rows }: { rows: DeliveryRow[] }): void {
  for (const row of rows) known.deliveries.set(deliveryKey(row), row)
}

const PAUSE_MILLISECONDS = 50

/** Repeats an action until the version gate refuses it. Any other error fails the test. */
export async function repeatUntilRefused(
  signal: AbortSignal,
  action: (times: number) => Promise<unknown>,
): Promise<number> {
  for (let times = 0; ; times += 1) {
    try {
      await action(times)
      await delay(PAUSE_MILLISECONDS, undefined, { signal })
    } catch (error) {
      if ((error as { code?: string }).code === REFUSED) return times
      throw error
    }
  }
}
