import { randomBytes, randomUUID } from 'node:crypto'
import { STORE_SCHEMA } from '../../service/program/roles/migrate-command.ts'
import type { Database } from '../../service/runtime/db/database.ts'
import { distributeTables } from '../../service/runtime/db/distribute-tables.ts'
import { migrate } from '../../service/runtime/db/migrate.ts'
import { openStoreNodes, type StoreNodes } from '../../service/runtime/db/store-nodes.ts'
import { ensurePartitions } from '../../service/signals/events/partition-store.ts'
import { insertEvents } from '../../service/signals/ingestion/commit-store.ts'
import { findCitusObstacle, startCitusCluster, startPlainServer } from '../citus/cluster.ts'
import type { BenchPlan, CitusPlan, Closers } from './bench-plan.ts'
import { openBenchDatabase } from './bench-store.ts'
import { describeMachine } from './machine.ts'
import { readProcessTreeSeconds } from './process-cost.ts'
import { type PurchaseGroup, purchaseGroup, type TrackerDestination } from './purchase-drafts.ts'

/** Where purchases are committed: one PostgreSQL, or a cluster through either of two nodes. */
export const PLACES = ['plain', 'owner', 'coordinator'] as const
export type Place = (typeof PLACES)[number]

export interface CitusFigures {
  machine: string
  plan: CitusPlan
  /** One result for each number of trackers. */
  loads: CitusLoad[]
  /** Stored and committed events of each store. */
  stores: { name: string; stored: number; committed: number }[]
}

export interface CitusLoad {
  trackers: number
  rounds: CitusRound[]
}

/** The same number of purchases, committed at each target. */
export type CitusRound = Record<Place, CommitCost>

export interface CommitCost {
  milliseconds: number
  /** CPU time of all servers of the store; null without /proc. */
  cpuSeconds: number | null
  /** WAL of all servers of the store. */
  walBytes: number
}

/** On a disk, and readable by the user postgres. */
const FOLDER = '/var/tmp'
/** Shards of each table, the default of Citus. */
const SHARDS = 32
const PARTITION_DAYS = 2
/** PostgreSQL chooses the plan of a prepared statement after five executions. */
const WARM_UP_COMMITS = 6

/**
 * The cost of a commit at the node that owns its trackers, through the coordinator, and on one
 * PostgreSQL of the same version and settings: the same kind of rows with the statements of the
 * service, one commit in flight, alternating targets. Returns the reason if a cluster cannot be
 * started.
 */
export async function measureCitus(
  { citus }: BenchPlan,
  closers: Closers,
): Promise<CitusFigures | string> {
  const reason = findCitusObstacle()
  if (reason) return reason
  const setup = await createSetup(citus, closers)
  const machine = await describeMachine(setup.places.plain, FOLDER)
  const loads: CitusLoad[] = []
  for (const trackers of citus.trackers) {
    loads.push({ trackers, rounds: await measureRounds(setup, { ...citus, trackers }) })
  }
  const { plain, coordinator } = setup.places
  const stores = [
    { name: 'PostgreSQL', stored: await countEvents(plain), committed: setup.committed.plain },
    {
      name: 'cluster',
      stored: await countEvents(coordinator),
      committed: setup.committed.owner + setup.committed.coordinator,
    },
  ]
  return { machine, plan: citus, loads, stores }
}

interface CitusSetup {
  /** The database that commits are sent to. */
  places: Record<Place, Database>
  /** The servers that take part in such a commit. */
  servers: Record<Place, Server[]>
  /** Trackers that one node of the cluster owns. */
  trackers: TrackerDestination[]
  committed: Record<Place, number>
  run: string
}

interface Server {
  database: Database
  processId: number
}

async function createSetup({ trackers }: CitusPlan, closers: Closers): Promise<CitusSetup> {
  const open = (connectionString: string) => {
    const database = openBenchDatabase(connectionString)
    closers.push(database.close)
    return database
  }
  const options = { parent: FOLDER, isFlushed: true, shards: SHARDS }
  const single = await startPlainServer(options)
  closers.push(single.stop)
  const cluster = await startCitusCluster(options)
  closers.push(cluster.stop)
  const plain = open(single.connectionString)
  const coordinator = open(cluster.connectionString)
  for (const database of [plain, coordinator]) await prepareStore(database)
  const nodes = await openNodes(coordinator, cluster.connectionString)
  closers.push(() => nodes.close())
  const owned = await trackersOfOneNode(nodes, Math.max(...trackers))
  const clusterServers = cluster.ports.map((port, index) => ({
    database: open(Object.assign(new URL(cluster.connectionString), { port: String(port) }).href),
    processId: cluster.processIds[index] as number,
  }))
  return {
    places: { plain, owner: owned.node, coordinator },
    servers: {
      plain: [{ database: plain, processId: single.processIds[0] as number }],
      owner: clusterServers,
      coordinator: clusterServers,
    },
    trackers: owned.trackers,
    committed: { plain: 0, owner: 0, coordinator: 0 },
    run: randomBytes(6).toString('hex'),
  }
}

async function prepareStore(database: Database): Promise<void> {
  await migrate(database, STORE_SCHEMA)
  await distributeTables(database, STORE_SCHEMA.placements)
  await ensurePartitions(database, new Date(), PARTITION_DAYS)
}

function openNodes(coordinator: Database, connectionString: string): Promise<StoreNodes> {
  return openStoreNodes(coordinator, {
    connectionString,
    connectionsMax: 2,
    applicationName: 'signalbox bench',
    onIdleError: () => {},
    monotonicSeconds: () => performance.now() / 1_000,
  })
}

/** The tables that acceptance writes have no foreign key to trackers. */
async function trackersOfOneNode(nodes: StoreNodes, count: number) {
  const trackers: TrackerDestination[] = []
  const node = await nodes.findNode(randomUUID())
  while (trackers.length < count) {
    const trackerId = randomUUID()
    if ((await nodes.findNode(trackerId)) === node) {
      trackers.push({ trackerId, destinationId: randomUUID() })
    }
  }
  return { node, trackers }
}

interface LoadPlan {
  commits: number
  rows: number
  trackers: number
}

async function measureRounds(setup: CitusSetup, plan: LoadPlan): Promise<CitusRound[]> {
  for (let commit = 0; commit < WARM_UP_COMMITS; commit += 1) {
    for (const place of PLACES) await measureCommit(setup, place, plan)
  }
  const rounds: CitusRound[] = []
  for (let round = 0; round < plan.commits; round += 1) {
    const costs: Partial<CitusRound> = {}
    for (const place of rotatePlaces(round)) costs[place] = await measureCommit(setup, place, plan)
    rounds.push(costs as CitusRound)
  }
  return rounds
}

/** Each target is first, second and last equally often. */
function rotatePlaces(round: number): Place[] {
  return PLACES.map((_, index) => PLACES[(round + index) % PLACES.length] as Place)
}

async function measureCommit(
  { places, servers, trackers, committed, run }: CitusSetup,
  place: Place,
  plan: LoadPlan,
): Promise<CommitCost> {
  const first = committed.plain + committed.owner + committed.coordinator
  const group: PurchaseGroup = purchaseGroup({
    trackers: trackers.slice(0, plan.trackers),
    rows: plan.rows,
    first,
    run,
    at: new Date(),
  })
  const before = await readCosts(servers[place])
  const start = performance.now()
  const { newKeys: inserted } = await insertEvents(places[place], group.entries, group.deliveries)
  const milliseconds = performance.now() - start
  const after = await readCosts(servers[place])
  committed[place] += inserted.size
  if (inserted.size !== plan.rows) throw new Error(`${inserted.size} of ${plan.rows} are new`)
  const hasCpu = before.cpuSeconds !== null && after.cpuSeconds !== null
  return {
    milliseconds,
    cpuSeconds: hasCpu ? Number(after.cpuSeconds) - Number(before.cpuSeconds) : null,
    walBytes: after.walBytes - before.walBytes,
  }
}

async function readCosts(servers: readonly Server[]) {
  let walBytes = 0
  let cpuSeconds: number | null = 0
  for (const { database, processId } of servers) {
    const { rows } = await database.pool.query(
      `select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint as bytes`,
    )
    walBytes += rows[0].bytes
    const seconds = readProcessTreeSeconds(processId)
    cpuSeconds = cpuSeconds === null || seconds === null ? null : cpuSeconds + seconds
  }
  return { walBytes, cpuSeconds }
}

async function countEvents({ pool }: Database): Promise<number> {
  const { rows } = await pool.query('select count(*) as count from events')
  return rows[0].count
}
