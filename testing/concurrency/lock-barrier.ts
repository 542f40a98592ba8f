import type { TestContext } from 'node:test'
import pg from 'pg'
import type { Database } from '../../service/runtime/db/database.ts'
import { sharedCluster } from '../citus/cluster.ts'
import type { TestDatabase } from '../fixtures/database.ts'
import { waitUntil } from '../fixtures/wait-until.ts'

/**
 * Runs all operations simultaneously: the rows of this table stay locked until every operation
 * waits for one, so that none finishes before the last has started. An operation that finds nothing
 * to do, because another was faster, ends without waiting.
 */
export async function runSimultaneously<T>(
  { pool }: Pick<Database, 'pool'>,
  table: string,
  operations: readonly (() => Promise<T>)[],
): Promise<T[]> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await lockRows(client, table)
    let finishedCount = 0
    const results = Promise.all(
      operations.map(operation => operation().finally(() => (finishedCount += 1))),
    )
    await waitUntil('all of them wait or have finished', async () => {
      return (await countLockWaiters({ pool })) + finishedCount >= operations.length
    })
    await client.query('commit')
    return await results
  } finally {
    client.release(true)
  }
}

/** Citus locks the rows of one tracker at a time, by a bound parameter. */
async function lockRows(client: pg.PoolClient, table: string): Promise<void> {
  if (!sharedCluster()) {
    await client.query(`select from ${table} for update`)
    return
  }
  const { rows } = await client.query(`select distinct tracker_id from ${table}`)
  for (const { tracker_id } of rows) {
    await client.query(`select 1 from ${table} where tracker_id = $1::uuid for update`, [
      tracker_id,
    ])
  }
}

/** Statements on this database that wait for a lock, on any node. */
export async function countLockWaiters({ pool }: Pick<Database, 'pool'>): Promise<number> {
  const activity = sharedCluster() ? 'citus_stat_activity' : 'pg_stat_activity'
  const { rows } = await pool.query(
    `select count(*) as waiting from ${activity}
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0].waiting
}

/** Blocks all claims until it is released, so that several workers claim simultaneously. */
interface ClaimBarrier {
  /** The names of the blocked workers, sorted. */
  findWaitingWorkers(): Promise<string[]>
  release(): Promise<void>
}

const LOCK = 7_001

/** Creates a closed barrier. Deliveries can still be inserted, but not claimed. */
export async function createClaimBarrier(
  test: TestContext,
  store: TestDatabase,
): Promise<ClaimBarrier> {
  const client = new pg.Client({ connectionString: store.connectionString })
  // The test's database may be dropped first.
  client.on('error', () => {})
  await client.connect()
  test.after(() => client.end())
  await client.query(
    `create function wait_at_barrier() returns trigger language plpgsql as $$
     begin
       perform pg_advisory_xact_lock_shared(${LOCK});
       return null;
     end $$`,
  )
  await client.query(
    `create trigger wait_at_barrier before update on signalbox_store.delivery_queue
     for each statement execute function wait_at_barrier()`,
  )
  await client.query(`select pg_advisory_lock(${LOCK})`)
  const findWaitingWorkers = async () => {
    const { rows } = await client.query(
      `select distinct application_name as name from pg_stat_activity
       where datname = current_database() and wait_event = 'advisory' order by name`,
    )
    return rows.map(({ name }) => name)
  }
  const release = async () => void (await client.query(`select pg_advisory_unlock(${LOCK})`))
  return { findWaitingWorkers, release }
}
