import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { expireLeases } from '../../../testing/fixtures/deliveries.ts'
import {
  ledgerEntry,
  plannedDelivery,
  STORED_AT,
  storeEntries,
  TRACKER_ID,
} from '../../../testing/fixtures/stored-events.ts'
import { insertTrackerWithWorkspace } from '../../../testing/fixtures/tracker.ts'
import type { Database } from '../../runtime/db/database.ts'
import { claimDeliveries } from './claim-store.ts'
import { pauseDestination, postponeProbe, resumeDestination } from './destination-health-store.ts'
import { findDueQueues } from './destination-queue-store.ts'
import { insertDestination } from './destination-store.ts'

const SEALED_CREDENTIAL = Buffer.alloc(40)

function after(seconds: number): Date {
  return new Date(STORED_AT.getTime() + seconds * 1_000)
}

/** A tracker with so many destinations, and one delivery waiting for each of them. */
async function storeWithQueues(test: TestContext, count: number) {
  const { database } = await createTestDatabase(test)
  const createdAt = STORED_AT
  await insertTrackerWithWorkspace(database, { id: TRACKER_ID, createdAt })
  const queues = Array.from({ length: count }, () => randomUUID()).sort()
  for (const id of queues) {
    const config = { dataset_id: '1' }
    const destination = { trackerId: TRACKER_ID, id, platform: 'meta', config, createdAt }
    await insertDestination(database, { ...destination, sealedCredential: SEALED_CREDENTIAL })
  }
  const plans = queues.map((destinationId, index) =>
    plannedDelivery({ id: index + 1, destinationId }),
  )
  await storeEntries(database, [ledgerEntry()], plans)
  return { database, queues }
}

async function dueAt(
  database: Database,
  seconds: number,
  { queuesMax = 100, leaveOut = [] }: { queuesMax?: number; leaveOut?: readonly string[] } = {},
): Promise<string[]> {
  const queues = await findDueQueues(database, {
    now: after(seconds),
    queuesMax,
    excludedDestinationIds: leaveOut,
  })
  return queues.map(({ destinationId }) => destinationId).sort()
}

async function claimAll(database: Database, destinationId: string): Promise<number> {
  const queue = { trackerId: TRACKER_ID, destinationId, platform: 'meta', isProbe: false }
  const lease = { claimedAt: STORED_AT, leaseSeconds: 60 }
  const { deliveries } = await claimDeliveries(database, { queue: queue, limit: 1_000, ...lease })
  return deliveries.length
}

it('finds only the queues with due deliveries', async test => {
  const { database, queues } = await storeWithQueues(test, 3)
  assert.deepEqual(await dueAt(database, -1), [])
  assert.deepEqual(await dueAt(database, 0), queues)
})

it('skips a queue whose rows are all leased until the lease ends', async test => {
  const { database, queues } = await storeWithQueues(test, 2)
  const [leased = '', waiting] = queues
  assert.equal(await claimAll(database, leased), 1)
  assert.deepEqual(await dueAt(database, 86_400), [waiting])
  await expireLeases(database)
  assert.deepEqual(await dueAt(database, 0), queues)
})

it('skips an inactive destination until its probe is due', async test => {
  const { database, queues } = await storeWithQueues(test, 1)
  const [destinationId = ''] = queues
  const queue = { trackerId: TRACKER_ID, destinationId }
  const tried = { ...queue, sealedCredential: SEALED_CREDENTIAL, at: STORED_AT }
  const pause = { ...tried, reason: 'refused', nextProbeAt: after(60) }
  assert.equal(await pauseDestination(database, pause), true)
  assert.equal(await pauseDestination(database, pause), false)
  assert.deepEqual(await dueAt(database, 59), [])
  assert.deepEqual(
    await findDueQueues(database, { now: after(60), queuesMax: 1, excludedDestinationIds: [] }),
    [{ ...queue, platform: 'meta', isProbe: true }],
  )

  await postponeProbe(database, { ...pause, at: after(60), nextProbeAt: after(180) })
  assert.deepEqual(await dueAt(database, 179), [])
  assert.equal(await resumeDestination(database, { ...tried, at: after(180) }), true)
  assert.equal(await resumeDestination(database, { ...tried, at: after(180) }), false)
  assert.deepEqual(
    await findDueQueues(database, { now: after(0), queuesMax: 1, excludedDestinationIds: [] }),
    [{ ...queue, platform: 'meta', isProbe: false }],
  )
})

it('applies the limit after excluding destinations', async test => {
  const { database, queues } = await storeWithQueues(test, 40)
  const [only, ...quiet] = queues
  assert.deepEqual(await dueAt(database, 0, { queuesMax: 1, leaveOut: quiet }), [only])
  assert.deepEqual(await dueAt(database, 0, { queuesMax: 40, leaveOut: [only ?? ''] }), quiet)
  assert.deepEqual(await dueAt(database, 0, { leaveOut: queues }), [])
})

it('reaches every queue when there are more than the limit', async test => {
  const { database, queues } = await storeWithQueues(test, 12)
  const seen = new Set<string>()
  for (let look = 0; look < 200 && seen.size < queues.length; look += 1) {
    const found = await dueAt(database, 0, { queuesMax: 3 })
    assert.equal(found.length, 3)
    for (const queue of found) seen.add(queue)
  }
  assert.deepEqual([...seen].sort(), queues)
})
