import type pg from 'pg'
import { type BatchWrite, buildBatchWrite, trackerIdArray } from '../db/sql-fragments.ts'
import { type NumberedDelivery, PLAN_WRITES } from '../delivery/plan-store.ts'
import { buildConflictStatement, EVENT_WRITES, KEY_WRITE } from '../events/append-store.ts'
import { toEventRows } from '../events/event-columns.ts'
import type { EventRecord } from '../events/event-record.ts'
import { digestEventId, SPACE_NUMBERS } from '../events/event-ref.ts'
import { WITHDRAWAL_WRITE } from '../events/suppression-store.ts'

/** A connection in a transaction. */
type Client = Pick<pg.ClientBase, 'query'>

/** Numbers of entries, counted from 1. */
export interface InsertedRecordNumbers {
  /** Those that are new. */
  accepted: number[]
  /** Those that were not tried: their person has withdrawn consent or was erased. */
  conflicts: number[]
}

/**
 * Makes this transaction one that stores payloads, before it looks for erased people: an erasure
 * waits for those that hold this lock and began before it was known (`waitForPayloadWriters`). A
 * statement that deletes nothing takes it at this node alone; `lock table` asks every node.
 */
const LOCK_PAYLOADS_STATEMENT = 'delete from event_payloads where false'

/**
 * Stores new events with their deliveries on a Citus cluster, at the node that owns their trackers
 * and in the transaction of the caller. One PostgreSQL takes the same writes as one statement
 * (store.ts). Here each is a statement that reads its parameters alone: Citus sends the result of a
 * common table expression that a write reads to every node, so a node that is away would stop the
 * trackers of all others.
 */
export async function insertOnCitus(
  client: Client,
  entries: readonly EventRecord[],
  deliveries: readonly NumberedDelivery[],
): Promise<InsertedRecordNumbers> {
  await client.query(LOCK_PAYLOADS_STATEMENT)
  const conflicts = await findConflicts(client, entries)
  const left = new Set(conflicts)
  const accepted = await claimEventIds(client, entries, left)
  await writeRecords(
    client,
    accepted.map(number => recordAt(entries, number)),
  )
  await writeDeliveries(client, entries, selectNewDeliveries(deliveries, accepted))
  return { accepted, conflicts }
}

/**
 * Asks each shard for its own entries: Citus would send all of them to every shard of the node,
 * and look each up there with all trackers (367 ms for a thousand entries of a hundred trackers).
 */
async function findConflicts(client: Client, entries: readonly EventRecord[]): Promise<number[]> {
  const conflicts: number[] = []
  for (const numbers of await groupByShard(client, entries)) {
    const asked = buildConflictStatement(numbers.map(number => recordAt(entries, number)))
    const { rows } = await client.query({ name: 'find-conflicts', ...asked })
    conflicts.push(...rows.map(({ number }) => numbers[Number(number) - 1] as number))
  }
  return conflicts
}

async function groupByShard(
  client: Client,
  entries: readonly EventRecord[],
): Promise<Iterable<number[]>> {
  const { rows } = await client.query({
    name: 'find-shards',
    text: `select tracker_id,
             get_shard_id_for_distribution_column('events', tracker_id) as shard
           from unnest($1::uuid[]) as tracker_id`,
    values: [trackerIdArray(entries)],
  })
  const shards = new Map<string, number>(rows.map(row => [row.tracker_id, row.shard]))
  const numbers = entries.map((_, index) => index + 1)
  return Map.groupBy(numbers, number => shards.get(recordAt(entries, number).trackerId)).values()
}

/** The numbers of the entries whose ids were free. */
async function claimEventIds(
  client: Client,
  entries: readonly EventRecord[],
  conflicts: ReadonlySet<number>,
): Promise<number[]> {
  const tried = [...entries.keys()].map(index => index + 1).filter(number => !conflicts.has(number))
  const rows = await runBatchWrite(
    client,
    'keys',
    KEY_WRITE,
    toEventRows(tried.map(number => recordAt(entries, number))),
  )
  const taken = new Set(
    rows.map(row => `${row.tracker_id} ${row.space} ${row.id_digest.replaceAll('-', '')}`),
  )
  return tried.filter(number => {
    const { trackerId, space, eventId } = recordAt(entries, number)
    return taken.has(`${trackerId} ${SPACE_NUMBERS[space]} ${digestEventId(eventId)}`)
  })
}

async function writeRecords(client: Client, entries: readonly EventRecord[]): Promise<void> {
  const rows = toEventRows(entries)
  for (const [name, entryWrite] of Object.entries(EVENT_WRITES)) {
    await runBatchWrite(client, name, entryWrite, rows)
  }
  const withdrawals = entries.flatMap(({ trackerId, createdAt, withdrawnKeys: withdrawalOf }) =>
    withdrawalOf.map(visitorId => ({ trackerId, createdAt, visitorId })),
  )
  await runBatchWrite(client, 'withdrawals', WITHDRAWAL_WRITE, withdrawals)
}

async function writeDeliveries(
  client: Client,
  entries: readonly EventRecord[],
  deliveries: readonly NumberedDelivery[],
): Promise<void> {
  const placed = deliveries.map(delivery => ({
    ...delivery,
    createdAt: recordAt(entries, delivery.number).createdAt,
  }))
  const queued = placed.filter(({ status }) => status === 'queued')
  const final = placed.filter(({ status }) => status !== 'queued')
  await runBatchWrite(client, 'queued', PLAN_WRITES.queued, queued)
  await runBatchWrite(client, 'final', PLAN_WRITES.final, final)
  await runBatchWrite(client, 'counted-plans', PLAN_WRITES.counted_plans, placed)
}

async function runBatchWrite<Row>(
  client: Client,
  name: string,
  batch: BatchWrite<Row>,
  rows: readonly Row[],
  // biome-ignore lint/suspicious/noExplicitAny: driver rows.
): Promise<any[]> {
  if (rows.length === 0) return []
  const answer = await client.query({
    name: `insert-events-${name}`,
    ...buildBatchWrite(batch, rows),
  })
  return answer.rows
}

function selectNewDeliveries(
  deliveries: readonly NumberedDelivery[],
  accepted: readonly number[],
): NumberedDelivery[] {
  const isNew = new Set(accepted)
  return deliveries.filter(({ number }) => isNew.has(number))
}

function recordAt(entries: readonly EventRecord[], number: number): EventRecord {
  return entries[number - 1] as EventRecord
}
