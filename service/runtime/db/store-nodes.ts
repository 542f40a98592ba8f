import { LRUCache } from 'lru-cache'
import { batchLoads } from '../util/load-cache.ts'
import { type Database, type DatabaseOptions, hasCitus, openDatabase } from './database.ts'

/**
 * The nodes that store the trackers. One PostgreSQL is one node, without any lookup. On a Citus
 * cluster a statement costs half as much at the node that owns its trackers as through the
 * coordinator. Any node answers for any tracker, so an outdated node is slower but never wrong.
 */
export interface StoreNodes {
  /** False on one PostgreSQL. */
  readonly isCluster: boolean
  /** The node that owns this tracker. Throws when it is unknown and the coordinator is away. */
  findNode(trackerId: string): Promise<Database>
  /** The known nodes that own trackers; at least one. */
  all(): Database[]
  /** Whether each server answers now: `main`, to which `DATABASE_URL` points, and `host:port`. */
  checkServers(): Promise<Map<string, boolean>>
  close(): Promise<void>
}

/** A store that is one PostgreSQL. `close` leaves the database open for its owner. */
export function singleNode(database: Database): StoreNodes {
  const findNode = async () => database
  const checkServers = async () => new Map([[MAIN_SERVER, await isAnswering(database)]])
  const all = () => [database]
  return { isCluster: false, findNode, all, checkServers, close: async () => {} }
}

const MAIN_SERVER = 'main'
/** A metrics request does not wait longer. */
const CHECK_MILLISECONDS_MAX = 3_000

async function isAnswering({ pool }: Database): Promise<boolean> {
  const statement = { text: 'select 1', query_timeout: CHECK_MILLISECONDS_MAX }
  return pool.query(statement).then(
    () => true,
    () => false,
  )
}

export interface StoreNodesOptions extends DatabaseOptions {
  monotonicSeconds: () => number
}

/**
 * Opens the nodes of the store behind `coordinator`, which `options` opened. Connections to other
 * nodes open on demand, with the same database, account and limits, as many to each node as to the
 * coordinator.
 */
export async function openStoreNodes(
  coordinator: Database,
  options: StoreNodesOptions,
): Promise<StoreNodes> {
  return (await hasCitus(coordinator))
    ? new CitusNodes(coordinator, options)
    : singleNode(coordinator)
}

/** A moved shard is found within this time; until then its statements take a detour. */
const SHARD_MAP_SECONDS_MAX = 5

/** A hash is 4 bytes and never changes. */
const HASHES_MAX = 100_000

interface ShardRange {
  min: number
  max: number
  /** `host:port`; null for the coordinator. */
  address: string | null
}

class CitusNodes implements StoreNodes {
  readonly isCluster = true
  readonly #coordinator: Database
  readonly #options: StoreNodesOptions
  readonly #hashes = new LRUCache<string, Promise<number>>({ max: HASHES_MAX })
  readonly #nodes = new Map<string, Database>()
  #shards: ShardRange[] | null = null
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<ShardRange[]> | null = null

  constructor(coordinator: Database, options: StoreNodesOptions) {
    this.#coordinator = coordinator
    this.#options = options
  }

  async findNode(trackerId: string): Promise<Database> {
    const [hash, shards] = await Promise.all([this.#findHash(trackerId), this.#findShards()])
    const shard = shards.find(({ min, max }) => min <= hash && hash <= max)
    // Not distributed yet: the coordinator has everything.
    return shard ? this.#nodeAt(shard.address) : this.#coordinator
  }

  all(): Database[] {
    const addresses = new Set(this.#shards?.map(({ address }) => address))
    if (addresses.size === 0) return [this.#coordinator]
    return [...addresses].map(address => this.#nodeAt(address))
  }

  async checkServers(): Promise<Map<string, boolean>> {
    // Without the coordinator, the last map stays in use.
    const shards = await this.#findShards().catch(() => [])
    const addresses = new Set([null, ...shards.map(({ address }) => address)])
    const checks = [...addresses].map(
      async address => [address ?? MAIN_SERVER, await isAnswering(this.#nodeAt(address))] as const,
    )
    return new Map(await Promise.all(checks))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map(node => node.close()))
  }

  #nodeAt(address: string | null): Database {
    if (address === null) return this.#coordinator
    const open = this.#nodes.get(address)
    if (open) return open
    const url = new URL(this.#options.connectionString)
    url.host = address
    const node = openDatabase({ ...this.#options, connectionString: url.href })
    this.#nodes.set(address, node)
    return node
  }

  #findHash(trackerId: string): Promise<number> {
    const cached = this.#hashes.get(trackerId)
    if (cached) return cached
    const hash = queryTrackerHash(this.#coordinator, trackerId)
    this.#hashes.set(trackerId, hash)
    hash.catch(() => this.#hashes.delete(trackerId))
    return hash
  }

  /** Only the first call waits. Later ones use the last map while a new one is read. */
  async #findShards(): Promise<ShardRange[]> {
    const age = this.#options.monotonicSeconds() - this.#readAt
    if (this.#shards && age < SHARD_MAP_SECONDS_MAX) return this.#shards
    const reading = this.#readShards()
    if (!this.#shards) return reading
    // Without the coordinator, the last map stays in use.
    reading.catch(() => {})
    return this.#shards
  }

  #readShards(): Promise<ShardRange[]> {
    this.#reading ??= readShards(this.#coordinator)
      .then(shards => {
        this.#shards = shards
        this.#readAt = this.#options.monotonicSeconds()
        return shards
      })
      .finally(() => {
        this.#reading = null
      })
    return this.#reading
  }
}

async function queryTrackerHash({ pool }: Database, trackerId: string): Promise<number> {
  const { rows } = await pool.query({
    name: 'hash-tracker',
    text: 'select worker_hash($1::uuid) as hash',
    values: [trackerId],
  })
  return rows[0].hash
}

/** The shards of one distributed table, with which all others are colocated. */
async function readShards({ pool }: Database): Promise<ShardRange[]> {
  const { rows } = await pool.query({
    name: 'read-shards',
    text: `select shard.shardminvalue::integer as min, shard.shardmaxvalue::integer as max,
             case when node.groupid <> 0 then
               case when node.nodename like '%:%' then '[' || node.nodename || ']'
                    else node.nodename end || ':' || node.nodeport
             end as address
           from pg_dist_shard shard
           join pg_dist_placement place using (shardid)
           join pg_dist_node node on node.groupid = place.groupid and node.noderole = 'primary'
           where shard.logicalrelid = (
             select logicalrelid from pg_dist_partition
             where partmethod = 'h' and logicalrelid::oid = any(array[
               to_regclass('signalbox_store.destinations')::oid,
               to_regclass('public.destinations')::oid
             ])
             limit 1
           )
           order by 1`,
  })
  return rows
}

/**
 * Statements for many trackers, node by node. A statement through the coordinator of a Citus
 * cluster fails as a whole when one of its nodes is down, so one for trackers of several nodes
 * takes those of healthy nodes with it: 480 of 500 events were refused (docs/decisions/0024).
 * Everything that reads or writes rows of many trackers at once goes through these functions. On
 * one PostgreSQL they are one statement.
 */

/** Values in the order of the trackers, all of which the node stores. */
type LoadManyOfNode<Value> = (
  node: Database,
  trackerIds: readonly string[],
) => Promise<readonly Value[]>

/**
 * Looks up all trackers of one iteration of the event loop with one statement per node. A tracker
 * waits only for its own node, and fails only with it.
 */
export function batchLoadsByNode<Value>(
  nodes: StoreNodes,
  loadMany: LoadManyOfNode<Value>,
): (trackerId: string) => Promise<Value> {
  const loadFrom = perNode(node => batchLoads(trackerIds => loadMany(node, trackerIds)))
  const [only] = nodes.all()
  // On one PostgreSQL there is nothing to find, and asking would cost a microsecond per tracker.
  if (!nodes.isCluster && only) return loadFrom(only)
  return async trackerId => loadFrom(await nodes.findNode(trackerId))(trackerId)
}

/**
 * Calls `work` for each node with its own items, on all nodes at the same time. What works is done
 * when a node fails; the first failure is then thrown.
 */
export async function forEachNode<Item extends { trackerId: string }>(
  nodes: StoreNodes,
  items: readonly Item[],
  work: (node: Database, items: readonly Item[]) => Promise<void>,
): Promise<void> {
  const { byNode, failures } = await groupByNode(nodes, items)
  const results = await Promise.allSettled([...byNode].map(([node, own]) => work(node, own)))
  const [failed] = [...failures, ...results.filter(({ status }) => status === 'rejected')]
  if (failed) throw (failed as PromiseRejectedResult).reason
}

/** Makes a value of each node on first use, such as a queue of its trackers. */
export function perNode<Value>(create: (node: Database) => Value): (node: Database) => Value {
  const values = new Map<Database, Value>()
  return node => {
    const existing = values.get(node)
    if (existing !== undefined) return existing
    const value = create(node)
    values.set(node, value)
    return value
  }
}

interface NodeGroups<Item> {
  byNode: Map<Database, Item[]>
  /** Of the lookups of nodes. */
  failures: PromiseRejectedResult[]
}

async function groupByNode<Item extends { trackerId: string }>(
  nodes: StoreNodes,
  items: readonly Item[],
): Promise<NodeGroups<Item>> {
  const byNode = new Map<Database, Item[]>()
  const failures: PromiseRejectedResult[] = []
  const lookups = items.map(({ trackerId }) => nodes.findNode(trackerId))
  for (const [index, found] of (await Promise.allSettled(lookups)).entries()) {
    if (found.status === 'rejected') {
      failures.push(found)
      continue
    }
    const own = byNode.get(found.value) ?? []
    byNode.set(found.value, own)
    own.push(items[index] as Item)
  }
  return { byNode, failures }
}
