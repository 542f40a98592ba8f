import type { Database } from '../db/database.ts'

/**
 * Merges what was stored lately into the index of payloads, on every day. Resolves when all is
 * merged; nobody who stores payloads waits for it.
 */
export async function mergePayloadIndex({ pool }: Database): Promise<void> {
  await pool.query(
    `select gin_clean_pending_list(inhrelid) from pg_inherits
     where inhparent = 'event_payloads_by_identifier'::regclass`,
  )
}
