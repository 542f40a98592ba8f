import type { TestContext } from 'node:test'
import pg from 'pg'
import type { Database } from '../../service/db/database.ts'
import { sharedCluster } from '../citus/cluster.ts'
import type { TestDatabase } from '../fixtures/database.ts'
import { eventually } from '../fixtures/program.ts'

/**
 * Does all of it truly at once: rows of this table are held until every act has come to wait for
 * one, so that none that writes there is over before the last has begun. An act that finds nothing
 * to do any more, because another took it before the rows, ends without waiting.
 */
export async function runSimultaneously<T>(
  { pool }: Pick<Database, 'pool'>,
  table: string,
  acts: readonly (() => Promise<T>)[],
): Promise<T[]> {
  const holder = await pool.connect()
  try {
    await holder.query('begin')
    await lockRows(holder, table)
    let ended = 0
    const results = Promise.all(acts.map(act => act().finally(() => (ended += 1))))
    await eventually('all of them wait or have ended', async () => {
      return (await countLockWaiters({ pool })) + ended >= acts.length
    })
    await holder.query('commit')
    return await results
  } finally {
    holder.release(true)
  }
}

/** Citus locks rows of one tracker at a time, and each with what it was told. */
async function lockRows(holder: pg.PoolClient, table: string): Promise<void> {
  if (!sharedCluster()) {
    await holder.query(`select from ${table} for update`)
    return
  }
  const { rows } = await holder.query(`select distinct tracker_id from ${table}`)
  for (const { tracker_id } of rows) {
    await holder.query(`select 1 from ${table} where tracker_id = $1::uuid for update`, [
      tracker_id,
    ])
  }
}

/** Statements on this database that wait for a lock, on whichever node they do. */
export async function countLockWaiters({ pool }: Pick<Database, 'pool'>): Promise<number> {
  const activity = sharedCluster() ? 'citus_stat_activity' : 'pg_stat_activity'
  const { rows } = await pool.query(
    `select count(*) as waiting from ${activity}
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0].waiting
}

/** Keeps all workers from changing deliveries, so that several workers do it at the same moment. */
interface ClaimBarrier {
  /** The names of those who stand before it, in order. */
  findWaitingWorkers(): Promise<string[]>
  release(): Promise<void>
}

const LOCK = 7_001

/** A gate that is closed from the start. Deliveries can still be made, but not claimed. */
export async function createClaimBarrier(
  test: TestContext,
  store: TestDatabase,
): Promise<ClaimBarrier> {
  const keeper = new pg.Client({ connectionString: store.connectionString })
  // The store of the test may be gone before it.
  keeper.on('error', () => {})
  await keeper.connect()
  test.after(() => keeper.end())
  await keeper.query(
    `create function wait_at_gate() returns trigger language plpgsql as $$
     begin
       perform pg_advisory_xact_lock_shared(${LOCK});
       return null;
     end $$`,
  )
  await keeper.query(
    `create trigger wait_at_gate before update on signalbox_store.delivery_queue
     for each statement execute function wait_at_gate()`,
  )
  await keeper.query(`select pg_advisory_lock(${LOCK})`)
  const waiting = async () => {
    const { rows } = await keeper.query(
      `select distinct application_name as name from pg_stat_activity
       where datname = current_database() and wait_event = 'advisory' order by name`,
    )
    return rows.map(({ name }) => name)
  }
  const open = async () => void (await keeper.query(`select pg_advisory_unlock(${LOCK})`))
  return { findWaitingWorkers: waiting, release: open }
}
