import type pg from 'pg'
import { type BatchWrite, ownTrackers, writeOf } from '../db/row-arrays.ts'
import { type NumberedDelivery, PLAN_WRITES } from '../delivery/plan-store.ts'
import { ENTRY_WRITES, KEY_WRITE } from '../ledger/append-store.ts'
import { entryRows } from '../ledger/entry-rows.ts'
import { eventIdDigest, SPACE_NUMBERS } from '../ledger/event-space.ts'
import type { LedgerEntry } from '../ledger/ledger-entry.ts'
import { misjudgedStatement } from '../ledger/presumption-store.ts'
import { WITHDRAWAL_WRITE } from '../ledger/withdrawal-store.ts'

/** A connection in a transaction. */
type Client = Pick<pg.ClientBase, 'query'>

/** Numbers of entries, counted from 1. */
export interface InsertedNumbers {
  /** Those that are new. */
  accepted: number[]
  /** Those that were not tried: their person has withdrawn consent or was erased. */
  misjudged: number[]
}

/**
 * Makes this transaction one that stores payloads, before it looks for erased people: an erasure
 * waits for those that hold this lock and began before it was known (`awaitPayloadWriters`). A
 * statement that deletes nothing takes it at this node alone; `lock table` asks every node.
 */
const LOCK_PAYLOADS = 'delete from event_payloads where false'

/**
 * Stores new events with their deliveries on a Citus cluster, at the node that owns their trackers
 * and in the transaction of the caller. One PostgreSQL takes the same writes as one statement
 * (store.ts). Here each is a statement that reads its parameters alone: Citus sends the result of a
 * common table expression that a write reads to every node, so a node that is away would stop the
 * trackers of all others.
 */
export async function insertInSteps(
  client: Client,
  entries: readonly LedgerEntry[],
  deliveries: readonly NumberedDelivery[],
): Promise<InsertedNumbers> {
  await client.query(LOCK_PAYLOADS)
  const misjudged = await findMisjudged(client, entries)
  const left = new Set(misjudged)
  const accepted = await takeIds(client, entries, left)
  await writeEntries(
    client,
    accepted.map(number => entryOf(entries, number)),
  )
  await planDeliveries(client, entries, keepNew(deliveries, accepted))
  return { accepted, misjudged }
}

/**
 * Asks each shard for its own entries: Citus would send all of them to every shard of the node,
 * and look each up there with all trackers (367 ms for a thousand entries of a hundred trackers).
 */
async function findMisjudged(client: Client, entries: readonly LedgerEntry[]): Promise<number[]> {
  const misjudged: number[] = []
  for (const numbers of await numbersByShard(client, entries)) {
    const asked = misjudgedStatement(numbers.map(number => entryOf(entries, number)))
    const { rows } = await client.query({ name: 'find-misjudged', ...asked })
    misjudged.push(...rows.map(({ number }) => numbers[Number(number) - 1] as number))
  }
  return misjudged
}

async function numbersByShard(
  client: Client,
  entries: readonly LedgerEntry[],
): Promise<Iterable<number[]>> {
  const { rows } = await client.query({
    name: 'find-shards',
    text: `select tracker_id,
             get_shard_id_for_distribution_column('events', tracker_id) as shard
           from unnest($1::uuid[]) as tracker_id`,
    values: [ownTrackers(entries)],
  })
  const shards = new Map<string, number>(rows.map(row => [row.tracker_id, row.shard]))
  const numbers = entries.map((_, index) => index + 1)
  return Map.groupBy(numbers, number => shards.get(entryOf(entries, number).trackerId)).values()
}

/** The numbers of the entries whose ids were free. */
async function takeIds(
  client: Client,
  entries: readonly LedgerEntry[],
  misjudged: ReadonlySet<number>,
): Promise<number[]> {
  const tried = [...entries.keys()].map(index => index + 1).filter(number => !misjudged.has(number))
  const rows = await write(
    client,
    'keys',
    KEY_WRITE,
    entryRows(tried.map(number => entryOf(entries, number))),
  )
  const taken = new Set(
    rows.map(row => `${row.tracker_id} ${row.space} ${row.id_digest.replaceAll('-', '')}`),
  )
  return tried.filter(number => {
    const { trackerId, space, eventId } = entryOf(entries, number)
    return taken.has(`${trackerId} ${SPACE_NUMBERS[space]} ${eventIdDigest(eventId)}`)
  })
}

async function writeEntries(client: Client, entries: readonly LedgerEntry[]): Promise<void> {
  const rows = entryRows(entries)
  for (const [name, entryWrite] of Object.entries(ENTRY_WRITES)) {
    await write(client, name, entryWrite, rows)
  }
  const withdrawals = entries.flatMap(({ trackerId, createdAt, withdrawalOf }) =>
    withdrawalOf.map(visitorId => ({ trackerId, createdAt, visitorId })),
  )
  await write(client, 'withdrawals', WITHDRAWAL_WRITE, withdrawals)
}

async function planDeliveries(
  client: Client,
  entries: readonly LedgerEntry[],
  deliveries: readonly NumberedDelivery[],
): Promise<void> {
  const placed = deliveries.map(delivery => ({
    ...delivery,
    createdAt: entryOf(entries, delivery.number).createdAt,
  }))
  const queued = placed.filter(({ status }) => status === 'queued')
  const final = placed.filter(({ status }) => status !== 'queued')
  await write(client, 'queued', PLAN_WRITES.queued, queued)
  await write(client, 'final', PLAN_WRITES.final, final)
  await write(client, 'counted-plans', PLAN_WRITES.counted_plans, placed)
}

async function write<Row>(
  client: Client,
  name: string,
  batch: BatchWrite<Row>,
  rows: readonly Row[],
  // biome-ignore lint/suspicious/noExplicitAny: driver rows.
): Promise<any[]> {
  if (rows.length === 0) return []
  const answer = await client.query({ name: `insert-events-${name}`, ...writeOf(batch, rows) })
  return answer.rows
}

function keepNew(
  deliveries: readonly NumberedDelivery[],
  accepted: readonly number[],
): NumberedDelivery[] {
  const isNew = new Set(accepted)
  return deliveries.filter(({ number }) => isNew.has(number))
}

function entryOf(entries: readonly LedgerEntry[], number: number): LedgerEntry {
  return entries[number - 1] as LedgerEntry
}
