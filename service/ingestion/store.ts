import type { Database } from '../db/database.ts'
import { isOfCluster } from '../db/distribute-tables.ts'
import { arrayLiteral } from '../db/row-arrays.ts'
import { type PlannedDelivery, planExpressions, planValues } from '../delivery/plan-store.ts'
import { APPEND_PARAMETERS, appendExpressions, appendValues } from '../ledger/append-store.ts'
import type { EventSpace } from '../ledger/event-space.ts'
import type { LedgerEntry } from '../ledger/ledger-entry.ts'

/**
 * One statement is one transaction and one round trip: the events, their payloads, sessions and
 * withdrawals, and their deliveries are all there or none is. It answers with the numbers of the
 * entries that are new, and of those that were not tried.
 */
const insertStatement = (ownTrackers: string | null) => `
  with ${appendExpressions(1, ownTrackers)},${planExpressions(APPEND_PARAMETERS + 1)}
  select array(select number::integer from accepted) as accepted,
    array(select number::integer from misjudged) as misjudged`

const INSERT_EVENTS = insertStatement(null)
const INSERT_EVENTS_ON_CITUS = insertStatement(`$${APPEND_PARAMETERS + planValues([]).length + 1}`)

export interface EventKey {
  trackerId: string
  space: EventSpace
  eventId: string
}

/** A key of the ledger as one string; neither tracker ids nor spaces have a space in them. */
export function ledgerKey({ trackerId, space, eventId }: EventKey): string {
  return `${trackerId} ${space} ${eventId}`
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
  { pool }: Pick<Database, 'pool'>,
  entries: readonly LedgerEntry[],
  deliveries: readonly PlannedDelivery[],
): Promise<InsertedEvents> {
  const keys = entries.map(ledgerKey)
  const numbers = new Map(keys.map((key, index) => [key, index + 1]))
  const numbered = deliveries.map(delivery => ({
    ...delivery,
    number: numbers.get(ledgerKey(delivery)) as number,
  }))
  const values = [...appendValues(entries), ...planValues(numbered)]
  const isCluster = await isOfCluster({ pool })
  if (isCluster) values.push(arrayLiteral([...new Set(entries.map(entry => entry.trackerId))]))
  const text = isCluster ? INSERT_EVENTS_ON_CITUS : INSERT_EVENTS
  const { rows } = await pool.query({ name: 'insert-events', text, values })
  const [{ accepted, misjudged }] = rows
  const keysOf = (found: number[]) => new Set(found.map(number => keys[number - 1] as string))
  return { inserted: keysOf(accepted), misjudged: keysOf(misjudged) }
}
