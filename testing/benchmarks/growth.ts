import { totalmem } from 'node:os'
import { DAY_MILLISECONDS } from '../../service/runtime/util/time.ts'
import { createTrackers, LARGE_STORE_DAY, LARGE_TRACKER } from '../performance/large-store.ts'
import type { BenchPlan, Closers, GrowthPlan } from './bench-plan.ts'
import { type BenchDatabase, type BenchStore, openBenchStore } from './bench-store.ts'
import { LISTED_TABLES, settleStore, storeHistory, storePatternRows } from './growth-history.ts'
import { createGrowthLoad, GROWTH_NOW, type GrowthLoad } from './growth-load.ts'
import { measureDayPages, measureOperations, type Operation } from './growth-operations.ts'
import { describeMachine } from './machine.ts'
import { readProcessTreeSeconds } from './process-cost.ts'
import {
  readStoreBytes,
  readTableUpdates,
  readWalPosition,
  type TableUpdates,
  type WalPosition,
} from './store-statistics.ts'

export interface GrowthFigures {
  machine: string
  plan: GrowthPlan
  rounds: number
  /** One per size of history, smallest first. */
  sizes: GrowthSize[]
}

export interface GrowthSize {
  history: number
  historySeconds: number
  acceptance: AcceptanceFigures[]
  intervals: Interval[]
  /** Bytes added in all intervals, by table and index. */
  addedBytes: Map<string, number>
  /** Updates in all intervals. */
  updates: Map<string, TableUpdates>
  operations: Operation[]
  /** Of a single day with as many events as the history. */
  dayPages: Operation[]
}

export interface AcceptanceFigures {
  eventsPerSecond: number
  /** CPU time of PostgreSQL per thousand events; null without /proc. */
  cpuSeconds: number | null
}

/** From one checkpoint to the next, or from an automatic checkpoint. */
export interface Interval {
  isAfterCheckpoint: boolean
  slices: Slice[]
  /** Automatic checkpoints within the interval. */
  checkpoints: number
}

/** Events that were accepted and then delivered. */
export interface Slice {
  accepted: number
  delivered: number
  acceptance: WalBytes
  delivery: WalBytes
}

export interface WalBytes {
  bytes: number
  fullPages: number
}

const HISTORY_DAYS = 30
const HISTORY_FROM = new Date(GROWTH_NOW.getTime() - HISTORY_DAYS * DAY_MILLISECONDS)
const DAY_FROM = new Date(`${LARGE_STORE_DAY}T00:00:00.000Z`)
const DAY_UNTIL = new Date(DAY_FROM.getTime() + DAY_MILLISECONDS)
/** Events per commit, and the number of row patterns. */
const PATTERNS = 512
const FIRST_HISTORY_ID = 1_000_000_000
const INTERVALS = 2
/** Events after a checkpoint that are reported separately. */
const SLICE_EVENTS = 5_120

/** Accepts, delivers and reads in databases of one server that differ only in history. */
export async function measureGrowth(plan: BenchPlan, closers: Closers): Promise<GrowthFigures> {
  const store = await openBenchStore({ shared_buffers: buffersOf(plan.growth.history.at(-1) ?? 0) })
  closers.push(store.close)
  const machine = await describeMachine(store.database, store.dataDirectory)
  const stores: GrowthStore[] = []
  for (const history of plan.growth.history) stores.push(await createGrowthStore(store, history))
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const setup of stores)
      setup.size.acceptance.push(await measureAcceptance(store, setup, plan))
  }
  for (const setup of stores) {
    await measureIntervals(setup, plan.growth)
    const { bench, size } = setup
    const { connectionString, tracker } = bench
    const operations = { connectionString, failures: plan.growth.failures }
    const eraserId = tracker.trackerId
    size.operations = await measureOperations(bench.database, { ...operations, eraserId })
  }
  for (const { size } of stores) size.dayPages = await measureDay(store, size.history)
  return { machine, plan: plan.growth, rounds: plan.rounds, sizes: stores.map(({ size }) => size) }
}

const BUFFER_BYTES_PER_EVENT = 310
const BUFFER_MEGABYTES_MIN = 128
const MEGABYTE = 1_048_576

/** What the embedded server chooses at the start with a history, which is created after it here. */
function buffersOf(history: number): string {
  const bytes = Math.min(history * BUFFER_BYTES_PER_EVENT, totalmem() / 4)
  return `${Math.max(BUFFER_MEGABYTES_MIN, Math.floor(bytes / MEGABYTE))}MB`
}

interface GrowthStore {
  bench: BenchDatabase
  load: GrowthLoad
  size: GrowthSize
}

/** A database with this many delivered events of the last 30 days. */
async function createGrowthStore(store: BenchStore, history: number): Promise<GrowthStore> {
  const bench = await makeTrackedDatabase(store, `history_${history}`)
  const start = performance.now()
  const load = createGrowthLoad(bench.database)
  await storePatterns(bench, load)
  if (history > 0) {
    await storeHistory(bench.connectionString, {
      ...historyRows(history),
      from: HISTORY_FROM,
      until: GROWTH_NOW,
    })
  }
  const size: GrowthSize = {
    history,
    historySeconds: (performance.now() - start) / 1_000,
    acceptance: [],
    intervals: [],
    addedBytes: new Map(),
    updates: new Map(),
    operations: [],
    dayPages: [],
  }
  return { bench, load, size }
}

function historyRows(count: number) {
  return {
    trackerId: LARGE_TRACKER,
    count,
    salt: 'history',
    firstDeliveryId: FIRST_HISTORY_ID,
  }
}

/** Turns autovacuum on, which `createTrackers` turns off for tests. */
async function makeTrackedDatabase(store: BenchStore, name: string): Promise<BenchDatabase> {
  const bench = await store.newDatabase(name)
  await createTrackers(bench.database)
  const { rows } = await bench.database.pool.query(
    `select oid::regclass::text as name from pg_class
     where relkind = 'r' and 'autovacuum_enabled=off' = any(reloptions)`,
  )
  for (const table of rows) {
    await bench.database.pool.query(`alter table ${table.name} reset (autovacuum_enabled)`)
  }
  return bench
}

async function storePatterns({ database }: BenchDatabase, load: GrowthLoad): Promise<void> {
  await load.accept(({ events }) => events >= PATTERNS)
  await load.deliver(PATTERNS)
  await storePatternRows(database, LARGE_TRACKER)
}

async function measureAcceptance(
  { processId }: BenchStore,
  { load }: GrowthStore,
  { warmUpSeconds, seconds }: BenchPlan,
): Promise<AcceptanceFigures> {
  const lasting = (lastSeconds: number) =>
    load.accept(({ milliseconds }) => milliseconds >= lastSeconds * 1_000)
  await lasting(warmUpSeconds)
  const before = readProcessTreeSeconds(processId)
  const { events, milliseconds } = await lasting(seconds)
  const after = readProcessTreeSeconds(processId)
  return {
    eventsPerSecond: (events * 1_000) / milliseconds,
    cpuSeconds: before === null || after === null ? null : ((after - before) * 1_000) / events,
  }
}

async function measureIntervals(
  { bench: { database, connectionString }, load, size }: GrowthStore,
  plan: GrowthPlan,
): Promise<void> {
  await load.deliver(Number.POSITIVE_INFINITY)
  await settleStore(connectionString)
  const [bytesBefore, updatesBefore] = [
    await readStoreBytes(database),
    await readTableUpdates(database),
  ]
  for (let number = 0; number < INTERVALS; number += 1) {
    // After an automatic checkpoint, another one would distort the distance between them.
    const isAfterCheckpoint = (size.intervals.at(-1)?.checkpoints ?? 0) === 0
    if (isAfterCheckpoint) await database.pool.query('checkpoint')
    const measured = await measureInterval({ bench: { database }, load }, plan)
    size.intervals.push({ ...measured, isAfterCheckpoint })
  }
  await database.pool.query('checkpoint')
  for (const [name, bytes] of await readStoreBytes(database)) {
    size.addedBytes.set(name, bytes - (bytesBefore.get(name) ?? 0))
  }
  for (const [name, { updates, heapOnly, deadRows }] of await readTableUpdates(database)) {
    const before = updatesBefore.get(name) ?? { updates: 0, heapOnly: 0 }
    size.updates.set(name, {
      updates: updates - before.updates,
      heapOnly: heapOnly - before.heapOnly,
      deadRows,
    })
  }
}

async function measureInterval(
  { bench: { database }, load }: { bench: Pick<BenchDatabase, 'database'>; load: GrowthLoad },
  { intervalEvents, intervalSeconds }: GrowthPlan,
): Promise<Omit<Interval, 'isAfterCheckpoint'>> {
  const endsAt = performance.now() + intervalSeconds * 1_000
  const slices: Slice[] = []
  const first = await readWalPosition(database)
  let [start, accepted] = [first, 0]
  while (accepted < intervalEvents && performance.now() < endsAt) {
    const sliceMax = Math.min(SLICE_EVENTS, intervalEvents - accepted)
    const { events } = await load.accept(acceptedNow => acceptedNow.events >= sliceMax)
    const between = await readWalPosition(database)
    const delivered = await load.deliver(events)
    const end = await readWalPosition(database)
    slices.push({
      accepted: events,
      delivered,
      acceptance: walBetween(start, between),
      delivery: walBetween(between, end),
    })
    accepted += events
    start = end
  }
  return { slices, checkpoints: start.checkpoints - first.checkpoints }
}

function walBetween(before: WalPosition, after: WalPosition): WalBytes {
  return { bytes: after.bytes - before.bytes, fullPages: after.fullPages - before.fullPages }
}

/** A temporary database with the events of a single day. */
async function measureDay(store: BenchStore, events: number): Promise<Operation[]> {
  if (events === 0) return []
  const name = `day_${events}`
  const bench = await makeTrackedDatabase(store, name)
  await storePatterns(bench, createGrowthLoad(bench.database))
  const rows = { ...historyRows(events), from: DAY_FROM, until: DAY_UNTIL }
  await storeHistory(bench.connectionString, rows, LISTED_TABLES)
  const pages = await measureDayPages(bench)
  await bench.database.close()
  await store.database.pool.query(`drop database ${name} with (force)`)
  return pages
}
