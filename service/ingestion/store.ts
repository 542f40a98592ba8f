import type { Database } from '../db/database.ts'
import { type PlannedDelivery, planExpressions, planValues } from '../delivery/plan-store.ts'
import { APPEND_PARAMETERS, appendExpressions, appendValues } from '../ledger/append-store.ts'
import type { LedgerEntry } from '../ledger/ledger-entry.ts'

/**
 * One statement is one transaction and one round trip: the events, their payloads, sessions and
 * withdrawals, and their deliveries are all there or none is.
 */
const INSERT_EVENTS = `with ${appendExpressions(1)},${planExpressions(APPEND_PARAMETERS + 1)}
  select tracker_id, event_id, true as is_new from inserted
  union all select tracker_id, event_id, false from withdrawn`

/** A key of the ledger as one string; tracker ids have no space in them. */
export function ledgerKey({ trackerId, eventId }: { trackerId: string; eventId: string }): string {
  return `${trackerId} ${eventId}`
}

export interface InsertedEvents {
  /** The keys of the events that are new. */
  inserted: Set<string>
  /** The keys of those that were not tried, because their person has withdrawn consent. */
  withdrawn: Set<string>
}

/**
 * Stores new events with their deliveries. Those in neither answer were there before, committed.
 * Entries are distinct and sorted by key.
 */
export async function insertEvents(
  { pool }: Database,
  entries: readonly LedgerEntry[],
  deliveries: readonly PlannedDelivery[],
): Promise<InsertedEvents> {
  const { rows } = await pool.query({
    name: 'insert-events',
    text: INSERT_EVENTS,
    values: [...appendValues(entries), ...planValues(deliveries)],
  })
  const keysOf = (isNew: boolean) =>
    rows
      .filter(row => row.is_new === isNew)
      .map(row => ledgerKey({ trackerId: row.tracker_id, eventId: row.event_id }))
  return { inserted: new Set(keysOf(true)), withdrawn: new Set(keysOf(false)) }
}
