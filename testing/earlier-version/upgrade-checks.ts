import assert from 'node:assert/strict'
import type { Database } from '../../service/runtime/db/database.ts'
import { findDeliveries } from '../../service/signals/delivery/delivery-store.ts'
import { findEventsById, type StoredEvent } from '../../service/signals/events/event-store.ts'
import { assertCountersMatch } from '../fixtures/stored-events.ts'
import type { EarlierEvent } from './accept-events.ts'
import { type Acknowledged, deliveryKey, eventKey } from './earlier-writers.ts'

const PAGE = 500

/** Columns of a delivery that the upgrade must not change. */
const KEPT = [
  'event_id',
  'id',
  'destination_id',
  'status',
  'status_reason',
  'is_test',
  'attempt_count',
  'attempts_before_replay',
  'next_attempt_at',
  'leased_until',
  'first_sent_at',
  'updated_at',
  'replayed_at',
  'replayable_until',
  'platform_trace_id',
  'last_error',
  'attempt_ids',
  'created_at',
]

/** Fails unless exactly the acknowledged rows are stored, each of them once. */
export async function assertUpgraded(database: Database, known: Acknowledged): Promise<void> {
  await assertEvents(database, known)
  await assertKeys(database)
  await assertDeliveries(database, known)
  await assertCountersMatch(database)
}

async function assertEvents(database: Database, { events, erased }: Acknowledged): Promise<void> {
  const { rows } = await database.pool.query('select tracker_id, event_id from events')
  const found = rows.map(row => eventKey({ trackerId: row.tracker_id, eventId: row.event_id }))
  assert.equal(new Set(found).size, found.length, 'no event is stored twice')
  assert.deepEqual(found.sort(), [...events.keys()].sort())
  for (const [trackerId, ofTracker] of Map.groupBy(events.values(), event => event.trackerId)) {
    const byId = new Map(ofTracker.map(event => [event.eventId, event]))
    const read: StoredEvent[] = []
    const delivered: number[] = []
    const ids = [...byId.keys()]
    for (let from = 0; from < ids.length; from += PAGE) {
      const page = await findEventsById(database, trackerId, ids.slice(from, from + PAGE))
      read.push(...page)
      const deliveries = await findDeliveries(database, trackerId, page)
      delivered.push(...deliveries.map(({ id }) => id))
    }
    assert.equal(read.length, byId.size)
    for (const event of read) {
      const { createdAt, email, visitorId } = byId.get(event.eventId) as EarlierEvent
      assert.deepEqual(event.createdAt, createdAt)
      if (erased.has(eventKey({ trackerId, eventId: event.eventId }))) {
        assert.equal(event.payload, null)
      } else {
        assert.deepEqual(event.payload?.digests, { em: [email] })
        assert.equal(event.session?.visitorId, visitorId)
      }
    }
    const planned = ofTracker.flatMap(event => event.deliveries.map(({ id }) => id))
    assert.deepEqual(delivered.sort(), planned.sort())
  }
}

/** Each event has a key in both spaces, and there are no other keys. */
async function assertKeys({ pool }: Database): Promise<void> {
  const { rows } = await pool.query(
    `select count(*) as keys, count(*) filter (where events.event_id is null) as orphans,
       2 * (select count(*) from events) as wanted
     from event_keys
     left join events on events.tracker_id = event_keys.tracker_id
       and events.created_at = event_keys.created_at
       and event_id_digest(events.event_id) = event_keys.id_digest`,
  )
  assert.deepEqual(rows, [{ keys: rows[0].wanted, orphans: 0, wanted: rows[0].wanted }])
}

async function assertDeliveries({ pool }: Database, known: Acknowledged): Promise<void> {
  const { rows } = await pool.query(
    `select tracker_id, event_id, space, id, destination_id, status, status_reason, is_test,
       attempt_count, attempts_before_replay, next_attempt_at, leased_until, first_sent_at,
       updated_at, replayed_at, null as replayable_until, platform_trace_id, last_error::jsonb,
       attempt_ids, created_at, true as is_waiting
     from delivery_queue
     union all
     select tracker_id, event_id, space, id, destination_id, status, status_reason, is_test,
       attempt_count, attempts_before_replay, null, null, first_sent_at,
       updated_at, replayed_at, replayable_until, platform_trace_id, last_error::jsonb,
       attempt_ids, created_at, false
     from deliveries`,
  )
  const found = new Map(rows.map(row => [deliveryKey(row), row]))
  assert.equal(found.size, rows.length, 'no delivery is in both tables')
  for (const { space } of rows) assert.equal(space, 2)
  for (const [key, before] of known.deliveries) {
    const after = found.get(key)
    assert.ok(after, `delivery ${key} is stored`)
    assert.deepEqual(kept(after), kept(before))
    assert.equal(after.is_waiting, before.next_attempt_at !== null)
  }
}

function kept(row: Record<string, unknown>): Record<string, unknown> {
  const values = KEPT.map(name => [name, row[name]])
  return { ...Object.fromEntries(values), last_error: JSON.stringify(row.last_error) }
}
