import type { Database } from '../db/database.ts'
import { type PlannedDelivery, planExpressions, planValues } from '../delivery/plan-store.ts'
import { APPEND_PARAMETERS, appendExpressions, appendValues } from '../ledger/append-store.ts'
import type { LedgerEntry } from '../ledger/ledger-entry.ts'

/**
 * One statement is one transaction and one round trip: the events, their payloads, sessions and
 * withdrawals, and their deliveries are all there or none is. It answers with the events that are
 * not new, because almost all are. The ledger's first two parameters are the keys.
 */
const INSERT_EVENTS = `with ${appendExpressions(1)},${planExpressions(APPEND_PARAMETERS + 1)}
  select entry.tracker_id, entry.event_id, exists (
    select from misjudged
    where misjudged.tracker_id = entry.tracker_id and misjudged.event_id = entry.event_id
  ) as is_misjudged
  from unnest($1::uuid[], $2::text[]) as entry(tracker_id, event_id)
  where not exists (
    select from inserted
    where inserted.tracker_id = entry.tracker_id and inserted.event_id = entry.event_id
  )`

/** A key of the ledger as one string; tracker ids have no space in them. */
export function ledgerKey({ trackerId, eventId }: { trackerId: string; eventId: string }): string {
  return `${trackerId} ${eventId}`
}

export interface InsertedEvents {
  /** The keys of the events that are new. */
  inserted: Set<string>
  /** The keys of those that were not tried: their person has withdrawn consent or was erased. */
  misjudged: Set<string>
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
  const inserted = new Set(entries.map(ledgerKey))
  const misjudged = new Set<string>()
  for (const { tracker_id: trackerId, event_id: eventId, is_misjudged } of rows) {
    const key = ledgerKey({ trackerId, eventId })
    inserted.delete(key)
    if (is_misjudged) misjudged.add(key)
  }
  return { inserted, misjudged }
}
