import type pg from 'pg'
import { type Database, inTransaction } from '../db/database.ts'
import { isCitusCluster } from '../db/distribute-tables.ts'
import {
  type NumberedDelivery,
  type PlannedDelivery,
  planExpressions,
  planValues,
} from '../delivery/plan-store.ts'
import {
  APPEND_PARAMETER_COUNT,
  buildAppendCtes,
  buildAppendValues,
} from '../events/append-store.ts'
import type { EventRecord } from '../events/event-record.ts'
import type { EventSpace } from '../events/event-ref.ts'
import { type InsertedRecordNumbers, insertOnCitus } from './citus-store.ts'

/** Answers with the numbers of the entries that are new, and of those that were not tried. */
const INSERT_EVENTS = `
  with ${buildAppendCtes(1)},${planExpressions(APPEND_PARAMETER_COUNT + 1)}
  select array(select number::integer from accepted) as accepted,
    array(select number::integer from conflicts) as conflicts`

export interface EventKey {
  trackerId: string
  space: EventSpace
  eventId: string
}

/** A key of the ledger as one string; neither tracker ids nor spaces have a space in them. */
export function formatEventKey({ trackerId, space, eventId }: EventKey): string {
  return `${trackerId} ${space} ${eventId}`
}

export interface InsertedEvents {
  /** The keys of the events that are new. */
  newKeys: Set<string>
  /** The keys of those that were not tried: their person has withdrawn consent or was erased. */
  conflictingKeys: Set<string>
}

/**
 * Stores new events with their deliveries, all or none. Those in neither answer were there before,
 * committed. Entries are distinct. In the order of receipt, with which the keys of their tables
 * begin, they fill the pages of an index; in the order of their ids they left a quarter of them
 * empty. On one PostgreSQL this is one statement, which is one transaction and one round trip; on a
 * Citus cluster it is one transaction.
 */
export async function insertEvents(
  database: Pick<Database, 'pool'>,
  entries: readonly EventRecord[],
  deliveries: readonly PlannedDelivery[],
): Promise<InsertedEvents> {
  const isCluster = await isCitusCluster(database)
  const insert = (client: pg.Pool | pg.ClientBase) =>
    insertEventsInTransaction(client, { entries, deliveries, isCluster })
  return isCluster ? inTransaction(database, insert) : insert(database.pool)
}

/** The same within a transaction of the caller. */
export async function insertEventsInTransaction(
  client: pg.Pool | pg.ClientBase,
  {
    entries,
    deliveries,
    isCluster,
  }: {
    entries: readonly EventRecord[]
    deliveries: readonly PlannedDelivery[]
    isCluster: boolean
  },
): Promise<InsertedEvents> {
  const keys = entries.map(formatEventKey)
  const numbers = new Map(keys.map((key, index) => [key, index + 1]))
  const numbered = deliveries.map(delivery => ({
    ...delivery,
    number: numbers.get(formatEventKey(delivery)) as number,
  }))
  const insert = isCluster ? insertOnCitus : insertInOneStatement
  const { accepted, conflicts } = await insert(client, entries, numbered)
  const keysOf = (found: number[]) => new Set(found.map(number => keys[number - 1] as string))
  return { newKeys: keysOf(accepted), conflictingKeys: keysOf(conflicts) }
}

async function insertInOneStatement(
  client: pg.Pool | pg.ClientBase,
  entries: readonly EventRecord[],
  deliveries: readonly NumberedDelivery[],
): Promise<InsertedRecordNumbers> {
  const values = [...buildAppendValues(entries), ...planValues(deliveries)]
  const { rows } = await client.query({ name: 'insert-events', text: INSERT_EVENTS, values })
  // The driver's query may stay in memory until a collection of the whole heap. Its parameters,
  // 3.3 KB an event, must not: that alone made such a collection necessary every 3,000 events.
  values.length = 0
  return rows[0]
}
