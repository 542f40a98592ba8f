import { CompiledQuery } from 'kysely'
import type { Database, Transaction } from './database.ts'

/** Those that decide how a statement is carried out, and so are needed where its rows are. */
export interface LocalSettings {
  lock_timeout?: number
  statement_timeout?: number
  synchronous_commit?: 'off'
  enable_bitmapscan?: 'off'
  enable_sort?: 'off'
}

/** Settings for the rest of a transaction, times in milliseconds. */
export async function setLocally({ query }: Transaction, settings: LocalSettings): Promise<void> {
  await query.executeQuery(CompiledQuery.raw(localSettings(settings)))
}

/**
 * The same as text, for a transaction that is one round trip. On a Citus cluster a setting holds on
 * the coordinator alone, while the rows are locked and read on the other nodes: without the first
 * line a lock there is waited for without end. One PostgreSQL takes that line and does nothing.
 */
export function localSettings(settings: LocalSettings): string {
  const lines = Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`)
  return ["set local citus.propagate_set_commands = 'local'", ...lines].join('; ')
}

const LOCK_MILLISECONDS_MAX = 500
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Runs `work` in a transaction that waits for each lock for half a second at most, because every
 * statement behind it waits as well. Null when a lock was held longer: nothing has changed then.
 * `settings` hold in it too.
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

/** Whether a statement gave up because it waited for a lock longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === LOCK_NOT_AVAILABLE
}
