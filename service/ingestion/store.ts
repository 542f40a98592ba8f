import type { Database } from '../db/database.ts'
import { type PlannedDelivery, planExpressions, planValues } from '../delivery/plan-store.ts'
import { APPEND_PARAMETERS, appendExpressions, appendValues } from '../ledger/append-store.ts'
import type { LedgerEntry } from '../ledger/ledger-entry.ts'

/**
 * One statement is one transaction and one round trip: the events, their payloads, sessions and
 * withdrawals, and their deliveries are all there or none is.
 */
const INSERT_EVENTS = `with ${appendExpressions(1)},${planExpressions(APPEND_PARAMETERS + 1)}
  select tracker_id, event_id from inserted`

/** A key of the ledger as one string; tracker ids have no space in them. */
export function ledgerKey({ trackerId, eventId }: { trackerId: string; eventId: string }): string {
  return `${trackerId} ${eventId}`
}

/**
 * Stores new events with their deliveries and returns the keys of those that are new; the others
 * were there before, committed. Entries are distinct and sorted by key.
 */
export async function insertEvents(
  { pool }: Database,
  entries: readonly LedgerEntry[],
  deliveries: readonly PlannedDelivery[],
): Promise<Set<string>> {
  const { rows } = await pool.query({
    name: 'insert-events',
    text: INSERT_EVENTS,
    values: [...appendValues(entries), ...planValues(deliveries)],
  })
  return new Set(rows.map(row => ledgerKey({ trackerId: row.tracker_id, eventId: row.event_id })))
}
