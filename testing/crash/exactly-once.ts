import assert from 'node:assert/strict'
import { queryStore } from '../fixtures/query-store.ts'
import { listReceipts } from '../fixtures/simulator.ts'
import { waitUntil } from '../fixtures/wait-until.ts'

/** IDs of events with a delivery that the platform may get again: none of them is settled. */
export async function listUnsettledEvents(connectionString: string): Promise<Set<string>> {
  const rows = await queryStore<{ event_id: string }>(
    connectionString,
    'select event_id from all_deliveries where next_attempt_at is not null',
  )
  return new Set(rows.map(row => row.event_id))
}

const STORED_EVENTS = `
  select event_id, array(
    select status from all_deliveries
    where tracker_id = events.tracker_id and event_id = events.event_id
  ) as deliveries
  from events order by event_id collate "C"`

interface Installation {
  connectionString: string
  platformUrl: string
  settleSecondsMax?: number
}

/**
 * Waits until nothing is under way, then checks that the store has each of these events exactly
 * once, each with one accepted delivery, and that the platform counted each exactly once. Returns
 * the IDs of all stored events: those without an acknowledgment may be there or not.
 */
export async function assertExactlyOnce(
  { connectionString, platformUrl, settleSecondsMax = 120 }: Installation,
  acknowledged: Iterable<string>,
): Promise<Set<string>> {
  await waitUntil(
    'every delivery is settled',
    async () => (await listUnsettledEvents(connectionString)).size === 0,
    settleSecondsMax,
  )
  const rows = await queryStore<{ event_id: string; deliveries: string[] }>(
    connectionString,
    STORED_EVENTS,
  )
  const stored = new Set(rows.map(row => row.event_id))
  assert.equal(stored.size, rows.length, 'an event is stored twice')
  assert.deepEqual([...acknowledged].filter(id => !stored.has(id)).sort(), [], 'lost events')
  const others = rows.filter(row => row.deliveries.join() !== 'accepted')
  assert.deepEqual(others, [], 'deliveries that are not accepted once')
  const counted = (await listReceipts(platformUrl)).filter(({ deduplicated }) => !deduplicated)
  const countedIds = counted.map(({ event_id }) => event_id)
  assert.equal(new Set(countedIds).size, countedIds.length, 'counted twice by the platform')
  assert.deepEqual(
    [...stored].filter(id => !countedIds.includes(id)),
    [],
    'never delivered',
  )
  return stored
}
