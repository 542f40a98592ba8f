import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { sharedCluster } from '../../../testing/citus/cluster.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import {
  type StoredDestination,
  storeDestinations,
  storeQueuedDeliveries,
} from '../../../testing/fixtures/deliveries.ts'
import { STORED_AT } from '../../../testing/fixtures/stored-events.ts'
import { type Database, openDatabase } from '../../runtime/db/database.ts'
import { readBacklog } from './backlog-store.ts'
import { findDueQueues } from './destination-queue-store.ts'

const KEYS = { current: randomBytes(32), previous: [] }
const NOTHING = { dueQueues: 0, oldestDueSeconds: 0 }

function after(seconds: number): Date {
  return new Date(STORED_AT.getTime() + seconds * 1_000)
}

async function storeWithQueues(test: TestContext, count: number) {
  const { database, connectionString } = await createTestDatabase(test)
  const queues = await storeDestinations(database, KEYS, count)
  return {
    database,
    connectionString,
    queues: queues as [StoredDestination, ...StoredDestination[]],
  }
}

it('counts the queues with due deliveries and the time since the oldest became due', async test => {
  const { database, queues } = await storeWithQueues(test, 3)
  assert.deepEqual(await readBacklog(database, after(60)), { active: NOTHING, inactive: NOTHING })
  await storeQueuedDeliveries(database, queues.slice(0, 2), 2)
  assert.deepEqual(await readBacklog(database, after(-1)), { active: NOTHING, inactive: NOTHING })
  await database.pool.query(
    `update delivery_queue set next_attempt_at = $2::timestamptz
     where tracker_id = $1::uuid or id = 2`,
    [queues[0].trackerId, after(20)],
  )
  const active = { dueQueues: 2, oldestDueSeconds: 90.5 }
  assert.deepEqual(await readBacklog(database, after(90.5)), { active, inactive: NOTHING })
})

it('separates the deliveries of inactive destinations', async test => {
  const { database, queues } = await storeWithQueues(test, 2)
  await storeQueuedDeliveries(database, queues, 1)
  const [paused] = queues
  await database.pool.query(`update destinations set status = 'inactive' where tracker_id = $1`, [
    paused.trackerId,
  ])
  const waiting = { dueQueues: 1, oldestDueSeconds: 5 }
  assert.deepEqual(await readBacklog(database, after(5)), { active: waiting, inactive: waiting })
})

it('counts a claimed delivery as due until it is settled', async test => {
  const { database, queues } = await storeWithQueues(test, 1)
  await storeQueuedDeliveries(database, queues, 1)
  await database.pool.query(
    `update delivery_queue set status = 'sent', leased_until = now() + interval '1 minute'`,
  )
  const { active } = await readBacklog(database, after(5))
  assert.deepEqual(active, { dueQueues: 1, oldestDueSeconds: 5 })
  await database.pool.query('delete from delivery_queue')
  assert.deepEqual((await readBacklog(database, after(5))).active, NOTHING)
})

it('reads one row per queue, however many wait, like the search for due queues', {
  skip: sharedCluster() !== null && 'rows read are counted by one PostgreSQL for its own session',
}, async test => {
  const { database, connectionString, queues } = await storeWithQueues(test, 10)
  await storeQueuedDeliveries(database, queues, 1)
  await storeQueuedDeliveries(
    database,
    (await storeDestinations(database, KEYS, 1)) as [StoredDestination],
    20_000,
  )
  // As autovacuum does at any time: then an index alone answers, and its table counts no row.
  await database.pool.query('vacuum analyze delivery_queue, destinations')
  const session = oneSession(test, connectionString)
  const now = after(60)
  const backlog = await rowsRead(session, () => readBacklog(session, now))
  const look = await rowsRead(session, () =>
    findDueQueues(session, { now, queuesMax: 100, excludedDestinationIds: [] }),
  )
  assert.deepEqual({ backlog, look }, { backlog: 11, look: 11 })
})

/** PostgreSQL counts what a transaction has read for the session that reads it. */
function oneSession(test: TestContext, connectionString: string): Database {
  const session = openDatabase({
    connectionString,
    connectionsMax: 1,
    applicationName: 'signalbox test',
    onIdleError: () => {},
  })
  test.after(() => session.close())
  return session
}

/** Rows that one piece of work has read of the queue and entries of its indexes. */
async function rowsRead({ pool }: Database, work: () => Promise<unknown>): Promise<number> {
  const soFar = async () => {
    const { rows } = await pool.query(
      `select sum(pg_stat_get_xact_tuples_returned(oid))::integer as rows_read
       from (
         select 'delivery_queue'::regclass as oid
         union all
         select indexrelid from pg_index where indrelid = 'delivery_queue'::regclass
       ) relations`,
    )
    return rows[0].rows_read as number
  }
  await pool.query('begin')
  const before = await soFar()
  await work()
  const count = (await soFar()) - before
  await pool.query('rollback')
  return count
}
