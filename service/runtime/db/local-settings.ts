import { CompiledQuery } from 'kysely'
import type { Database, Transaction } from './database.ts'
import { isLockTimeout } from './database-errors.ts'

/** Settings that decide how a statement runs, and so must hold on the node that has its rows. */
export interface LocalSettings {
  lock_timeout?: number
  statement_timeout?: number
  synchronous_commit?: 'off'
  enable_bitmapscan?: 'off'
  enable_sort?: 'off'
}

/** Sets these for the rest of a transaction. Times are in milliseconds. */
export async function setLocally({ query }: Transaction, settings: LocalSettings): Promise<void> {
  await query.executeQuery(CompiledQuery.raw(localSettings(settings)))
}

/**
 * The same as SQL text, for a transaction that is one round trip. On a Citus cluster a setting
 * holds on the coordinator alone, while rows are locked and read on the other nodes: without the
 * first line, waiting for a lock there has no timeout. One PostgreSQL accepts and ignores it.
 */
export function localSettings(settings: LocalSettings): string {
  const lines = Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`)
  return ["set local citus.propagate_set_commands = 'local'", ...lines].join('; ')
}

const LOCK_MILLISECONDS_MAX = 500

/**
 * Runs `work` in a transaction that waits for each lock for at most half a second, because every
 * statement behind it in the queue waits as well. Returns null, with nothing changed, when a lock
 * was held longer. `settings` hold in the transaction too.
 */
export async function withLockTimeout<Result>(
  { query }: Pick<Database, 'query'>,
  work: (transaction: Database['query']) => Promise<Result>,
  settings: LocalSettings = {},
): Promise<Result | null> {
  try {
    return await query.transaction().execute(async transaction => {
      await setLocally({ query: transaction }, { lock_timeout: LOCK_MILLISECONDS_MAX, ...settings })
      return await work(transaction)
    })
  } catch (error) {
    if (isLockTimeout(error)) return null
    throw error
  }
}
