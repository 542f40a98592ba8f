import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { acceptedSettlement, expireLeases } from '../../../testing/fixtures/deliveries.ts'
import {
  DESTINATION_ID,
  ledgerEntry,
  plannedDelivery,
  STORED_AT,
  storeEntries,
  TRACKER_ID,
} from '../../../testing/fixtures/stored-events.ts'
import type { Database } from '../../runtime/db/database.ts'
import {
  type ClaimedDeliveries,
  type ClaimedDelivery,
  claimDeliveries,
  claimDelivery,
} from './claim-store.ts'
import type { PlannedDelivery } from './plan-store.ts'
import { type KeyedSettlement, settleDeliveries } from './settlement-store.ts'

const QUEUE = { trackerId: TRACKER_ID, destinationId: DESTINATION_ID, isProbe: false }

function after(seconds: number): Date {
  return new Date(STORED_AT.getTime() + seconds * 1_000)
}

/** A store with so many deliveries waiting in one queue, one second after the other. */
async function storeWithQueue(
  test: TestContext,
  count: number,
  planOf: (index: number) => Partial<PlannedDelivery> = () => ({}),
): Promise<Database> {
  const { database } = await createTestDatabase(test)
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  await storeEntries(
    database,
    numbers.map(id => ledgerEntry({ eventId: `event-${id}` })),
    numbers.map(id =>
      plannedDelivery({
        id,
        eventId: `event-${id}`,
        dueAt: after(id - count),
        ...planOf(id),
      }),
    ),
  )
  return database
}

interface ClaimChanges {
  at?: number
  limit?: number
  leaseSeconds?: number
}

function claim(
  database: Database,
  { at = 0, limit = 1_000, leaseSeconds = 60 }: ClaimChanges = {},
) {
  return claimDeliveries(database, { queue: QUEUE, limit, claimedAt: after(at), leaseSeconds })
}

/** The ids of what was claimed, in order. */
function idsOf({ deliveries }: ClaimedDeliveries): number[] {
  return deliveries.map(({ id }) => id).sort((a, b) => a - b)
}

const ANSWERED = { traceId: 'A1', attemptId: '0190cccc-0000-7000-8000-000000000001' }

function accepted(delivery: ClaimedDelivery): KeyedSettlement {
  return acceptedSettlement(delivery, ANSWERED)
}

function settle(
  database: Database,
  { leaseEndsAt }: ClaimedDeliveries,
  settlements: KeyedSettlement[],
): Promise<number> {
  return settleDeliveries(database, {
    trackerId: TRACKER_ID,
    destinationId: DESTINATION_ID,
    leaseEndsAt,
    at: after(60),
    settlements,
    sent: { groups: [], marks: new Map() },
  })
}

async function row({ pool }: Database, id: number) {
  const { rows } = await pool.query('select * from all_deliveries where id = $1', [id])
  return rows[0]
}

it('claims the oldest deliveries first, up to the limit, with a lease', async test => {
  const database = await storeWithQueue(test, 5)
  const claimed = await claim(database, { limit: 3 })
  assert.deepEqual(idsOf(claimed), [1, 2, 3])
  const [{ attemptCount, attemptNumber: attemptsInRow }] = claimed.deliveries as [ClaimedDelivery]
  assert.deepEqual([attemptCount, attemptsInRow], [1, 1])
  const { status, leased_until, attempt_count, first_sent_at } = await row(database, 1)
  assert.deepEqual([status, attempt_count], ['sent', 1])
  assert.deepEqual([leased_until, first_sent_at], [claimed.leaseEndsAt, STORED_AT])
})

it('claims nothing before it is due', async test => {
  const database = await storeWithQueue(test, 2, () => ({ dueAt: after(10) }))
  assert.deepEqual(idsOf(await claim(database, { at: 9 })), [])
  assert.deepEqual(idsOf(await claim(database, { at: 10 })), [1, 2])
})

it('gives no row to two concurrent workers', async test => {
  const database = await storeWithQueue(test, 1_000)
  const claims = Array.from({ length: 8 }, () => claim(database, { limit: 200 }))
  const ids = (await Promise.all(claims)).flatMap(idsOf)
  assert.equal(new Set(ids).size, ids.length)
  for (let round = 0; round < 5; round += 1) {
    ids.push(...idsOf(await claim(database, { limit: 200 })))
  }
  assert.equal(new Set(ids).size, 1_000)
  assert.equal(ids.length, 1_000)
})

it('skips rows that another worker has locked', async test => {
  const database = await storeWithQueue(test, 4)
  const other = await database.pool.connect()
  try {
    await other.query('begin')
    await other.query(
      'select 1 from delivery_queue where tracker_id = $1::uuid and id <= 2 for update',
      [TRACKER_ID],
    )
    const claimed = await claim(database)
    assert.deepEqual(idsOf(claimed), [3, 4])
  } finally {
    other.release(true)
  }
})

it('returns a delivery after its lease ends and counts the attempt', async test => {
  const database = await storeWithQueue(test, 1)
  await claim(database)
  assert.deepEqual(idsOf(await claim(database)), [])
  await expireLeases(database)
  const { deliveries } = await claim(database)
  assert.equal(deliveries[0]?.attemptCount, 2)
  assert.deepEqual((await row(database, 1)).first_sent_at, STORED_AT)
})

it("ends no lease when a worker's clock is set forward", async test => {
  const database = await storeWithQueue(test, 1)
  await claim(database)
  assert.deepEqual(idsOf(await claim(database, { at: 86_400 })), [])
})

it('ends a lease by the database clock', async test => {
  const database = await storeWithQueue(test, 1)
  await claim(database, { leaseSeconds: 0 })
  assert.deepEqual(idsOf(await claim(database)), [1])
})

it('rejects settlements of a worker whose lease has ended', async test => {
  const database = await storeWithQueue(test, 2)
  const claimed = await claim(database)
  const [first, second] = claimed.deliveries as [ClaimedDelivery, ClaimedDelivery]
  await database.pool.query(`update delivery_queue set leased_until = '2020-01-01' where id = 1`)
  // Another length, since both claims may happen in the same millisecond.
  assert.deepEqual(idsOf(await claim(database, { leaseSeconds: 61 })), [1])
  const taken = await row(database, 1)
  assert.equal(await settle(database, claimed, [accepted(first), accepted(second)]), 1)
  assert.deepEqual(await row(database, 1), taken)
  assert.equal((await row(database, 2)).status, 'accepted')
})

it('claims a single delivery before it is due, and only once', async test => {
  const database = await storeWithQueue(test, 1, () => ({ dueAt: after(600) }))
  const single = { trackerId: TRACKER_ID, createdAt: STORED_AT, id: 1 }
  const lease = { claimedAt: STORED_AT, leaseSeconds: 60 }
  assert.deepEqual(idsOf(await claimDelivery(database, { ...single, ...lease })), [1])
  assert.deepEqual(idsOf(await claimDelivery(database, { ...single, ...lease })), [])
  const { status, status_reason } = await row(database, 1)
  assert.deepEqual([status, status_reason], ['sent', 'handed_over'])
})

const REFUSED = { status: 'failed:permanent', reason: 'refused_by_platform' } as const

it('settles once per lease', async test => {
  const database = await storeWithQueue(test, 1)
  const claimed = await claim(database)
  const [delivery] = claimed.deliveries as [ClaimedDelivery]
  assert.equal(await settle(database, claimed, [accepted(delivery)]), 1)
  const done = await row(database, 1)
  const refused = { ...accepted(delivery), ...REFUSED }
  assert.equal(await settle(database, claimed, [refused]), 0)
  assert.deepEqual(await row(database, 1), done)
  assert.deepEqual([done.next_attempt_at, done.leased_until], [null, null])
  assert.deepEqual(idsOf(await claim(database, { at: 10_000 })), [])
})

it('never claims test events and live events together, and alternates between them', async test => {
  const database = await storeWithQueue(test, 6, id => ({ isTest: id % 2 === 0 }))
  const first = await claim(database)
  const second = await claim(database)
  assert.deepEqual(idsOf(first), [1, 3, 5])
  assert.deepEqual(idsOf(second), [2, 4, 6])
  const kinds = [first, second].map(({ deliveries }) => deliveries[0]?.isTest)
  assert.deepEqual(kinds, [false, true])
  assert.deepEqual(idsOf(await claim(database)), [])
})

it('does not count the attempt of a delivery that is handed back', async test => {
  const database = await storeWithQueue(test, 1)
  const back = {
    status: 'queued',
    reason: 'handed_back',
    nextAttemptAt: after(1),
    isUncounted: true,
    attemptId: null,
  } as const
  const claimed = await claim(database)
  const [fresh] = claimed.deliveries as [ClaimedDelivery]
  await settle(database, claimed, [{ ...accepted(fresh), ...back }])
  const unsent = await row(database, 1)
  assert.deepEqual([unsent.attempt_count, unsent.first_sent_at], [0, null])
  assert.deepEqual(unsent.attempt_ids, [])

  await claim(database, { at: 100 })
  await expireLeases(database)
  const reclaimed = await claim(database, { at: 200 })
  const [survivor] = reclaimed.deliveries as [ClaimedDelivery]
  await settle(database, reclaimed, [{ ...accepted(survivor), ...back }])
  const sentOnce = await row(database, 1)
  assert.deepEqual([sentOnce.attempt_count, sentOnce.first_sent_at], [1, after(100)])
})

it("stores any text of a platform's answer", async test => {
  const database = await storeWithQueue(test, 1)
  const claimed = await claim(database)
  const [delivery] = claimed.deliveries as [ClaimedDelivery]
  const error = {
    class: 'permanent' as const,
    code: 100,
    subcode: null,
    message: 'quote " backslash \\ braces {} NULL, nul \0 and half a pair \ud83d',
    user_title: null,
    user_message: 'Ünïcode 日本',
    http_status: 400,
  }
  await settle(database, claimed, [{ ...accepted(delivery), ...REFUSED, error }])
  assert.deepEqual((await row(database, 1)).last_error, error)
})

it('writes nothing when nothing was settled', async test => {
  const database = await storeWithQueue(test, 1)
  assert.equal(await settle(database, await claim(database), []), 0)
})
