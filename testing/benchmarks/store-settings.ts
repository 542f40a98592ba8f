import { rmSync } from 'node:fs'
import { startEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { STORE_SCHEMA } from '../../service/program/roles/migrate-command.ts'
import { closeAll } from '../../service/program/roles/role.ts'
import type { Database } from '../../service/runtime/db/database.ts'
import { migrate } from '../../service/runtime/db/migrate.ts'
import { DAY_MILLISECONDS } from '../../service/runtime/util/time.ts'
import { createTrackers, LARGE_TRACKER } from '../performance/large-store.ts'
import type { BenchFindings, BenchPlan, Closers } from './bench-plan.ts'
import { benchFolder, openBenchDatabase } from './bench-store.ts'
import { storeHistory, storePatternRows } from './growth-history.ts'
import { createGrowthLoad, GROWTH_NOW, type GrowthLoad } from './growth-load.ts'
import { describeMachine } from './machine.ts'
import { formatFigure, formatTable, median } from './report-format.ts'
import { readWalPosition } from './store-statistics.ts'

/** Of the server, and of the two indexes whose keys come in random order. */
interface Profile {
  name: string
  settings: Readonly<Record<string, string>>
  fillfactor?: number
}

const PROFILES: readonly Profile[] = [
  { name: 'the base', settings: {} },
  { name: 'shared_buffers = 1GB', settings: { shared_buffers: '1GB' } },
  { name: 'wal_compression = pglz', settings: { wal_compression: 'pglz' } },
  { name: 'fillfactor 70', settings: {}, fillfactor: 70 },
]
/** What PostgreSQL has unless it is told otherwise, but no checkpoint that nobody asked for. */
const BASE = {
  shared_buffers: '128MB',
  wal_compression: 'off',
  max_wal_size: '64GB',
  checkpoint_timeout: '1d',
}
const RANDOM_INDEXES = ['signalbox_store.event_keys_pkey', 'public.sessions_pkey']
const FILLFACTOR = 90
const HISTORY_DAYS = 30
const PATTERNS = 512
const SLICE_EVENTS = 5_120
const WARM_UP_EVENTS = 10_240
/** Events since the checkpoint at which the figures are read. */
const DISTANCES = [25_600, 51_200, 102_400, 204_800, 409_600]

interface Slice {
  milliseconds: number
  walBytes: number
  fullPages: number
}

type Stores<Value> = Record<'empty' | 'filled', Value>
/** Slices of both stores in turn, since the checkpoint. */
type Run = Stores<Slice[]>

/**
 * Accepts the same purchases into a new store and one with a history, slice by slice in turn, under
 * one setting after the other. The ratio of the two, WAL bytes and full pages per event depend on
 * the size of the store and its settings, and hardly on the machine.
 */
export async function measureStoreSettings(
  plan: BenchPlan,
  closers: Closers,
): Promise<BenchFindings> {
  const folder = benchFolder()
  closers.push(async () => rmSync(folder, { recursive: true, force: true }))
  const history = plan.growth.history.at(-1) ?? 0
  const machine = await withServer(folder, {}, async url => {
    await createStore(url, 'pristine', 0)
    await createStore(url, 'filled', history)
    const database = openBenchDatabase(url('filled'))
    return describeMachine(database, folder).finally(() => database.close())
  })
  const runs = new Map<string, Run[]>(PROFILES.map(({ name }) => [name, []]))
  for (let round = 0; round < plan.rounds; round += 1) {
    // Backwards in every other round, because the filled store grows meanwhile.
    for (const profile of round % 2 === 0 ? PROFILES : PROFILES.toReversed()) {
      const run = await withServer(folder, profile.settings, url =>
        measureProfile(url, profile, plan.growth.intervalEvents),
      )
      runs.get(profile.name)?.push(run)
    }
  }
  return { text: `${machine}\n\n${report(runs, history)}`, faults: [] }
}

type StoreUrl = (name: keyof Stores<unknown> | 'pristine' | 'maintenance') => string

async function withServer<Result>(
  dataDirectory: string,
  settings: Readonly<Record<string, string>>,
  work: (url: StoreUrl) => Promise<Result>,
): Promise<Result> {
  const server = await startEmbeddedPostgres({
    dataDirectory,
    port: 0,
    settings: { ...BASE, ...settings },
  })
  const url: StoreUrl = name => {
    const pathname = name === 'maintenance' ? '/postgres' : `/store_${name}`
    return Object.assign(new URL(server.connectionString), { pathname }).href
  }
  return work(url).finally(() => server.stop())
}

async function createStore(
  url: StoreUrl,
  name: 'pristine' | 'filled',
  history: number,
): Promise<void> {
  await runMaintenance(url, [`create database store_${name}`])
  const database = openBenchDatabase(url(name))
  try {
    await migrate(database, STORE_SCHEMA)
    await createTrackers(database)
    const load = createGrowthLoad(database)
    await load.accept(({ events }) => events >= PATTERNS)
    await load.deliver(PATTERNS)
    await storePatternRows(database, LARGE_TRACKER)
  } finally {
    await database.close()
  }
  if (history === 0) return
  await storeHistory(url(name), {
    trackerId: LARGE_TRACKER,
    count: history,
    salt: 'history',
    firstDeliveryId: 1_000_000_000,
    from: new Date(GROWTH_NOW.getTime() - HISTORY_DAYS * DAY_MILLISECONDS),
    until: GROWTH_NOW,
  })
}

async function runMaintenance(url: StoreUrl, statements: readonly string[]): Promise<void> {
  const { pool, close } = openBenchDatabase(url('maintenance'))
  try {
    for (const statement of statements) await pool.query(statement)
  } finally {
    await close()
  }
}

interface LoadedStore {
  database: Database
  load: GrowthLoad
}

async function measureProfile(
  url: StoreUrl,
  { fillfactor = FILLFACTOR }: Profile,
  events: number,
): Promise<Run> {
  await runMaintenance(url, [
    'drop database if exists store_empty',
    'create database store_empty template store_pristine strategy file_copy',
  ])
  const closers: Closers = []
  const open = (name: keyof Run): LoadedStore => {
    const database = openBenchDatabase(url(name))
    closers.push(database.close)
    return { database, load: createGrowthLoad(database) }
  }
  const stores: Stores<LoadedStore> = { empty: open('empty'), filled: open('filled') }
  const run: Run = { empty: [], filled: [] }
  try {
    for (const { database, load } of [stores.empty, stores.filled]) {
      await rebuildRandomIndexes(database, fillfactor)
      await load.accept(accepted => accepted.events >= WARM_UP_EVENTS)
    }
    await stores.filled.database.pool.query('checkpoint')
    for (let accepted = 0; accepted < events; accepted += SLICE_EVENTS) {
      run.empty.push(await measureSlice(stores.empty))
      run.filled.push(await measureSlice(stores.filled))
    }
    return run
  } finally {
    await closeAll(closers)
  }
}

/** Each profile begins with the same indexes, read into memory as far as it reaches. */
async function rebuildRandomIndexes({ pool }: Database, fillfactor: number): Promise<void> {
  for (const name of RANDOM_INDEXES) {
    await pool.query(`alter index ${name} set (fillfactor = ${fillfactor})`)
    await pool.query(`reindex index ${name}`)
  }
}

async function measureSlice({ database, load }: LoadedStore): Promise<Slice> {
  const before = await readWalPosition(database)
  const { milliseconds } = await load.accept(({ events }) => events >= SLICE_EVENTS)
  const after = await readWalPosition(database)
  return {
    milliseconds,
    walBytes: after.bytes - before.bytes,
    fullPages: after.fullPages - before.fullPages,
  }
}

function report(runs: ReadonlyMap<string, readonly Run[]>, history: number): string {
  const rows = [...runs].flatMap(([name, ofProfile]) =>
    DISTANCES.filter(distance => distance <= (ofProfile[0]?.filled.length ?? 0) * SLICE_EVENTS).map(
      distance => rowOf(name, ofProfile, distance),
    ),
  )
  const head = ['WAL bytes', 'full pages', 'WAL bytes', 'full pages', 'events/s']
  return [
    `a new store and one with ${formatFigure(history, 0)} events, accepted in turn`,
    '',
    formatTable([
      ['', 'events since', 'new store', '', 'filled', '', 'filled/new'],
      ['', 'the checkpoint', ...head],
      ...rows,
    ]),
  ].join('\n')
}

function rowOf(name: string, runs: readonly Run[], distance: number): string[] {
  const slices = distance / SLICE_EVENTS
  const figure = (store: keyof Run, read: (slice: Slice) => number) =>
    median(runs.map(run => sum(run[store].slice(0, slices).map(read)) / distance))
  const ratio = median(
    runs.map(run => {
      const [empty, filled] = [run.empty.slice(0, slices), run.filled.slice(0, slices)]
      return (
        sum(empty.map(({ milliseconds }) => milliseconds)) /
        sum(filled.map(({ milliseconds }) => milliseconds))
      )
    }),
  )
  return [
    name,
    formatFigure(distance, 0),
    ...(['empty', 'filled'] as const).flatMap(store => [
      formatFigure(
        figure(store, ({ walBytes }) => walBytes),
        0,
      ),
      formatFigure(
        figure(store, ({ fullPages }) => fullPages),
        2,
      ),
    ]),
    formatFigure(ratio, 2),
  ]
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
