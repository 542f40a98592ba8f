import type { TestContext } from 'node:test'
import pg from 'pg'
import type { TestStore } from './test-store.ts'

/** Keeps all workers from changing deliveries, so that several workers do it at the same moment. */
export interface ClaimGate {
  /** The names of those who stand before it, in order. */
  waiting(): Promise<string[]>
  open(): Promise<void>
}

const LOCK = 7_001

/** A gate that is closed from the start. Deliveries can still be made, but not claimed. */
export async function claimGate(test: TestContext, store: TestStore): Promise<ClaimGate> {
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
  return { waiting, open }
}
