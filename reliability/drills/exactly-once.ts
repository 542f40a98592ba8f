import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { spawnProgram } from '../../testing/fixtures/program.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'

const SIMULATOR = new URL(import.meta.resolve('@signalbox/graph-simulator/main.ts')).pathname
const SEARCH_PATH = '-c search_path=signalbox_store,public'

/** A platform that outlives every process of a drill. Returns its address. */
export async function startPlatform(test: TestContext): Promise<string> {
  const program = spawnProgram([SIMULATOR], { SIMULATOR_PORT: '0' })
  test.after(() => program.kill('SIGKILL'))
  await waitUntil('the simulator listens', () => program.stdout().includes('\n'))
  return JSON.parse(program.stdout()).listening
}

interface Receipt {
  event_id: string
  /** The platform had this event and did not count it again. */
  deduplicated: boolean
}

const RECEIPTS_MAX = 10_000

/** Everything that the platform has received, repetitions included. */
export async function listReceipts(platformUrl: string): Promise<Receipt[]> {
  const response = await fetch(`${platformUrl}/_simulator/received?limit=${RECEIPTS_MAX}`)
  const { count, events } = (await response.json()) as { count: number; events: Receipt[] }
  assert.equal(events.length, count, 'the simulator cannot list all that it received')
  return events
}

/** Runs one statement on a store, with a connection of its own. */
export async function queryStore<Row extends pg.QueryResultRow>(
  connectionString: string,
  statement: string,
): Promise<Row[]> {
  const client = new pg.Client({ connectionString, options: SEARCH_PATH })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row>(statement)).rows
  } finally {
    await client.end()
  }
}

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

/**
 * Waits until nothing is under way, then checks that the store has each of these events exactly
 * once, each with one accepted delivery, and that the platform counted each exactly once. Returns
 * the IDs of all stored events: those without an acknowledgment may be there or not.
 */
export async function assertExactlyOnce(
  { connectionString, platformUrl }: { connectionString: string; platformUrl: string },
  acknowledged: Iterable<string>,
): Promise<Set<string>> {
  await waitUntil(
    'every delivery is settled',
    async () => (await listUnsettledEvents(connectionString)).size === 0,
    120,
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
