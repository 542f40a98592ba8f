import { CompiledQuery } from 'kysely'
import type { Transaction } from './database.ts'

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
