import type { Database } from '../service/db/database.ts'

/**
 * Ends every lease, as if its time were over. Leases run on the clock of the store, which no test
 * can move.
 */
export async function endLeases({ pool }: Database): Promise<void> {
  await pool.query(
    `update delivery_queue set leased_until = statement_timestamp() - interval '1 second'
     where leased_until is not null`,
  )
}
