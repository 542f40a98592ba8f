import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { type Database, inTransaction, isCitusCluster } from '../../runtime/db/database.ts'
import { type BatchWrite, buildBatchWrite, trackerIdArray } from '../../runtime/db/sql-fragments.ts'
import { formatUtcDay } from '../../runtime/util/time.ts'
import {
  type NumberedDelivery,
  PLAN_WRITES,
  type PlannedDelivery,
  planExpressions,
  planValues,
} from '../delivery/plan-store.ts'
import {
  APPEND_PARAMETER_COUNT,
  buildAppendCtes,
  buildAppendValues,
  EVENT_WRITES,
  KEY_WRITE,
} from '../events/append-store.ts'
import { buildConflictStatement } from '../events/conflict-store.ts'
import { digestEventId, type EventRow, toEventRows } from '../events/event-columns.ts'
import { type EventRecord, type EventSpace, SPACE_NUMBERS } from '../events/event-record.ts'
import { WITHDRAWAL_WRITE } from '../events/withdrawal-store.ts'

/**
 * Returns the numbers of the new records and of the conflicting ones. Null stands for all records,
 * which is nearly always the case: the driver takes 5 µs to read a number.
 */
const INSERT_EVENTS = `
  with ${buildAppendCtes(1)},${planExpressions(APPEND_PARAMETER_COUNT + 1)}
  select
    case when (select count(*) from accepted) < (select count(*) from entry)
      then array(select number::integer from accepted) end as accepted,
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
  const knownNames = findKnownNames(database.pool)
  const insert = (client: pg.Pool | pg.ClientBase) =>
    insertEventsInTransaction(client, { records, deliveries, isCluster, knownNames })
  if (!isCluster) return insert(database.pool)
  const inserted = await inTransaction(database, insert)
  for (const record of records) {
    if (inserted.newKeys.has(formatEventKey(record))) knownNames.set(formatName(record), true)
  }
  return inserted
}

/** Names of a day that this process has stored. */
type KnownNames = LRUCache<string, true>
const NAMES_MAX = 10_000
const knownNamesOfPools = new WeakMap<object, KnownNames>()

function findKnownNames(pool: object): KnownNames {
  const known = knownNamesOfPools.get(pool) ?? new LRUCache({ max: NAMES_MAX })
  knownNamesOfPools.set(pool, known)
  return known
}

function formatName({ trackerId, space, createdAt, eventName }: EventRecord): string {
  return `${trackerId} ${space} ${formatUtcDay(createdAt)} ${eventName}`
}

/** Runs `insertEvents` in a transaction of the caller. */
export async function insertEventsInTransaction(
  client: pg.Pool | pg.ClientBase,
  {
    records,
    deliveries,
    isCluster,
    knownNames,
  }: {
    records: readonly EventRecord[]
    deliveries: readonly PlannedDelivery[]
    isCluster: boolean
    knownNames?: KnownNames
  },
): Promise<InsertedEvents> {
  const keys = records.map(formatEventKey)
  const numbers = new Map(keys.map((key, index) => [key, index + 1]))
  const numbered = deliveries.map(delivery => ({
    ...delivery,
    number: numbers.get(formatEventKey(delivery)) as number,
  }))
  const { accepted, conflicts } = isCluster
    ? await insertOnCitus(client, { records, deliveries: numbered, knownNames })
    : await insertInOneStatement(client, records, numbered)
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
  const { accepted, conflicts } = rows[0]
  return { accepted: accepted ?? records.map((_, index) => index + 1), conflicts }
}

/** A connection in a transaction. */
type Client = Pick<pg.ClientBase, 'query'>

/** Positions of records in the batch, counted from 1. */
interface InsertedRecordNumbers {
  accepted: number[]
  /** Left out because the person withdrew consent or was erased. */
  conflicts: number[]
}

/**
 * Takes the lock of a payload writer before the check for erased people: an erasure waits for the
 * transactions that hold this lock and began before it (`waitForPayloadWriters`). A statement that
 * deletes nothing takes the lock on this node only; `lock table` would take it on every node.
 */
const LOCK_PAYLOADS_STATEMENT = 'delete from event_payloads where false'

/**
 * Stores new events with their deliveries on a Citus cluster, on the node that owns their trackers
 * and in the transaction of the caller. One PostgreSQL runs the same writes as one statement
 * (store.ts). Here each write is a statement of its own that reads only its parameters: Citus sends
 * the result of a common table expression that a write reads to every node, so one unavailable node
 * would stop the trackers of all others.
 */
async function insertOnCitus(
  client: Client,
  {
    records,
    deliveries,
    knownNames,
  }: {
    records: readonly EventRecord[]
    deliveries: readonly NumberedDelivery[]
    knownNames: KnownNames | undefined
  },
): Promise<InsertedRecordNumbers> {
  await client.query(LOCK_PAYLOADS_STATEMENT)
  const conflicts = await findConflicts(client, records)
  const accepted = await claimEventIds(client, records, new Set(conflicts))
  await writeRecords(
    client,
    accepted.map(number => recordAt(records, number)),
    knownNames,
  )
  await writeDeliveries(client, records, selectNewDeliveries(deliveries, accepted))
  return { accepted, conflicts }
}

/**
 * Queries each shard for its own records. In a single query, Citus sends all records to every shard
 * of the node and looks each one up under every tracker: 367 ms for 1,000 records of 100 trackers.
 */
async function findConflicts(client: Client, records: readonly EventRecord[]): Promise<number[]> {
  const conflicts: number[] = []
  for (const numbers of await groupByShard(client, records)) {
    const statement = buildConflictStatement(numbers.map(number => recordAt(records, number)))
    const { rows } = await client.query({ name: 'find-conflicts', ...statement })
    conflicts.push(...rows.map(({ number }) => numbers[Number(number) - 1] as number))
  }
  return conflicts
}

async function groupByShard(
  client: Client,
  records: readonly EventRecord[],
): Promise<Iterable<number[]>> {
  const { rows } = await client.query({
    name: 'find-shards',
    text: `select tracker_id,
             get_shard_id_for_distribution_column('events', tracker_id) as shard
           from unnest($1::uuid[]) as tracker_id`,
    values: [trackerIdArray(records)],
  })
  const shards = new Map<string, number>(rows.map(row => [row.tracker_id, row.shard]))
  const numbers = records.map((_, index) => index + 1)
  return Map.groupBy(numbers, number => shards.get(recordAt(records, number).trackerId)).values()
}

/** Inserts the keys and returns the numbers of the records whose event IDs were free. */
async function claimEventIds(
  client: Client,
  records: readonly EventRecord[],
  conflicts: ReadonlySet<number>,
): Promise<number[]> {
  const candidates = [...records.keys()]
    .map(index => index + 1)
    .filter(number => !conflicts.has(number))
  const rows = await runBatchWrite(
    client,
    'keys',
    KEY_WRITE,
    toEventRows(candidates.map(number => recordAt(records, number))),
  )
  const claimed = new Set(
    rows.map(row => `${row.tracker_id} ${row.space} ${row.id_digest.replaceAll('-', '')}`),
  )
  return candidates.filter(number => {
    const { trackerId, space, eventId } = recordAt(records, number)
    return claimed.has(`${trackerId} ${SPACE_NUMBERS[space]} ${digestEventId(eventId)}`)
  })
}

async function writeRecords(
  client: Client,
  records: readonly EventRecord[],
  knownNames: KnownNames | undefined,
): Promise<void> {
  const rows = toEventRows(records)
  // Most commits have nothing to write there, and each statement is a round trip.
  const sparse: Partial<Record<string, (row: EventRow) => boolean>> = {
    name_writes: ({ event }) => event.space === 'secret' && !knownNames?.has(formatName(event)),
    order_writes: ({ event }) => event.orderKey != null || event.refundKey != null,
  }
  for (const [name, eventWrite] of Object.entries(EVENT_WRITES)) {
    await runBatchWrite(client, name, eventWrite, rows.filter(sparse[name] ?? (() => true)))
  }
  const withdrawals = records.flatMap(({ trackerId, createdAt, withdrawnKeys }) =>
    withdrawnKeys.map(visitorId => ({ trackerId, createdAt, visitorId })),
  )
  await runBatchWrite(client, 'withdrawals', WITHDRAWAL_WRITE, withdrawals)
}

async function writeDeliveries(
  client: Client,
  records: readonly EventRecord[],
  deliveries: readonly NumberedDelivery[],
): Promise<void> {
  const dated = deliveries.map(delivery => ({
    ...delivery,
    createdAt: recordAt(records, delivery.number).createdAt,
  }))
  const queued = dated.filter(({ status }) => status === 'queued')
  const final = dated.filter(({ status }) => status !== 'queued')
  await runBatchWrite(client, 'queued', PLAN_WRITES.queued, queued)
  await runBatchWrite(client, 'final', PLAN_WRITES.final, final)
  await runBatchWrite(client, 'counted-plans', PLAN_WRITES.counted_plans, dated)
  await runBatchWrite(client, 'counted-holds', PLAN_WRITES.counted_holds, final)
  await runBatchWrite(client, 'counted-outcomes', PLAN_WRITES.counted_outcomes, final)
}

async function runBatchWrite<Row>(
  client: Client,
  name: string,
  batch: BatchWrite<Row>,
  rows: readonly Row[],
  // biome-ignore lint/suspicious/noExplicitAny: driver rows.
): Promise<any[]> {
  if (rows.length === 0) return []
  const { rows: returned } = await client.query({
    name: `insert-events-${name}`,
    ...buildBatchWrite(batch, rows),
  })
  return returned
}

function selectNewDeliveries(
  deliveries: readonly NumberedDelivery[],
  accepted: readonly number[],
): NumberedDelivery[] {
  const isNew = new Set(accepted)
  return deliveries.filter(({ number }) => isNew.has(number))
}

function recordAt(records: readonly EventRecord[], number: number): EventRecord {
  return records[number - 1] as EventRecord
}
