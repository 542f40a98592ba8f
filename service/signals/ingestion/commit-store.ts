import type pg from 'pg'
import { type Database, inTransaction, isCitusCluster } from '../../runtime/db/database.ts'
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
import type { EventRecord, EventSpace } from '../events/event-record.ts'
import { type InsertedRecordNumbers, insertOnCitus } from './citus-commit-store.ts'

/** Returns the numbers of the new records and of the conflicting ones. */
const INSERT_EVENTS = `
  with ${buildAppendCtes(1)},${planExpressions(APPEND_PARAMETER_COUNT + 1)}
  select array(select number::integer from accepted) as accepted,
    array(select number::integer from conflicts) as conflicts`

export interface EventKey {
  trackerId: string
  space: EventSpace
  eventId: string
}

/** An event key as one string. Neither tracker IDs nor event spaces contain a space. */
export function formatEventKey({ trackerId, space, eventId }: EventKey): string {
  return `${trackerId} ${space} ${eventId}`
}

export interface InsertedEvents {
  /** Keys of the events that are new. */
  newKeys: Set<string>
  /** Keys of events left out because the person withdrew consent or was erased. */
  conflictingKeys: Set<string>
}

/**
 * Stores new events with their deliveries in one transaction. An event in neither result set is a
 * duplicate of a committed one. Records must be distinct. Pass them in order of receipt, with which
 * the index keys begin: in order of event IDs, a quarter of each index page stayed empty. On one
 * PostgreSQL this is one statement and one round trip; on a Citus cluster it is one transaction of
 * several statements.
 */
export async function insertEvents(
  database: Pick<Database, 'pool'>,
  records: readonly EventRecord[],
  deliveries: readonly PlannedDelivery[],
): Promise<InsertedEvents> {
  const isCluster = await isCitusCluster(database)
  const insert = (client: pg.Pool | pg.ClientBase) =>
    insertEventsInTransaction(client, { records, deliveries, isCluster })
  return isCluster ? inTransaction(database, insert) : insert(database.pool)
}

/** Runs `insertEvents` in a transaction of the caller. */
export async function insertEventsInTransaction(
  client: pg.Pool | pg.ClientBase,
  {
    records,
    deliveries,
    isCluster,
  }: {
    records: readonly EventRecord[]
    deliveries: readonly PlannedDelivery[]
    isCluster: boolean
  },
): Promise<InsertedEvents> {
  const keys = records.map(formatEventKey)
  const numbers = new Map(keys.map((key, index) => [key, index + 1]))
  const numbered = deliveries.map(delivery => ({
    ...delivery,
    number: numbers.get(formatEventKey(delivery)) as number,
  }))
  const insert = isCluster ? insertOnCitus : insertInOneStatement
  const { accepted, conflicts } = await insert(client, records, numbered)
  const keysOf = (selected: number[]) => new Set(selected.map(number => keys[number - 1] as string))
  return { newKeys: keysOf(accepted), conflictingKeys: keysOf(conflicts) }
}

async function insertInOneStatement(
  client: pg.Pool | pg.ClientBase,
  records: readonly EventRecord[],
  deliveries: readonly NumberedDelivery[],
): Promise<InsertedRecordNumbers> {
  const values = [...buildAppendValues(records), ...planValues(deliveries)]
  const { rows } = await client.query({ name: 'insert-events', text: INSERT_EVENTS, values })
  // The driver's query object may stay in memory until a major garbage collection. Release its
  // parameters, 3.3 KB per event: they alone caused such a collection every 3,000 events.
  values.length = 0
  return rows[0]
}
