import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import pg from 'pg'
import { type CitusInstallation, findCitusInstallation } from './installation.ts'
import { PostgresServers } from './postgres-servers.ts'

/** A coordinator and two workers. */
const NODES = 3
/** Two on each worker: a table with 32 takes eight times as long to create and to copy. */
const SHARDS = 4
const DATABASE = 'signalbox'

/** The environment variable with the addresses of the cluster that all test files share. */
export const CITUS_CLUSTER = 'SIGNALBOX_TEST_CITUS'

/** The environment variable with the folder in which a run starts its clusters. */
export const CITUS_FOLDER = 'SIGNALBOX_TEST_CITUS_FOLDER'

export interface CitusAddresses {
  /** Of the coordinator, for an empty database with the extension. */
  connectionString: string
  /** The port of the coordinator first, then those of the two workers. */
  ports: readonly number[]
}

/** One PostgreSQL server, or several that start and stop together. */
export interface PlainServer {
  connectionString: string
  /** Of the postmasters, as started. */
  processIds: readonly number[]
  /** Stops the servers and removes their data. */
  stop(): Promise<void>
}

export interface CitusCluster extends CitusAddresses, PlainServer {
  /** Stops a node (0 is the coordinator) without a shutdown, like a power cut. */
  kill(node: number): Promise<void>
  /**
   * Stops a node without closing its connections, like a network that loses every packet. Returns a
   * function that continues it.
   */
  freeze(node: number): () => void
  /** Starts a killed node again. */
  restart(node: number): Promise<void>
  /** Starts a fourth node, which is not part of the cluster yet. Returns its port. */
  addNode(): Promise<number>
}

const installed = findCitusInstallation()

/**
 * The reason why this machine cannot run a cluster, or null if it can. Suites that need one are
 * skipped with this reason.
 */
export function findCitusObstacle(): string | null {
  if (typeof installed === 'string') return installed
  if (process.platform !== 'linux') return 'the servers of the cluster are started on Linux only'
  return existsSync('/usr/bin/setpriv') ? null : 'the servers of the cluster need setpriv'
}

/** The cluster that all test files share; null when they run on one PostgreSQL. */
export function sharedCluster(): CitusAddresses | null {
  const addresses = process.env[CITUS_CLUSTER]
  return addresses ? JSON.parse(addresses) : null
}

export interface ServerOptions {
  /** The parent of the servers' new folder; an account without privileges must reach it. */
  parent?: string
  /** Whether commits wait for the disk. Default: false. */
  isFlushed?: boolean
  /** Shards of each table. */
  shards?: number
}

/**
 * Starts a coordinator and two workers on free ports, in a temporary folder. Throws the reason of
 * `findCitusObstacle`, if any.
 */
export async function startCitusCluster(options: ServerOptions = {}): Promise<CitusCluster> {
  const servers = await prepareServers(options)
  try {
    const first = await firstOfFreePorts()
    const nodes = Array.from({ length: NODES }, (_, node) => node)
    const ports = nodes.map(node => first + node)
    const create = (node: number) =>
      servers.create({ node, port: first + node, libraries: 'citus' })
    await Promise.all(nodes.map(create))
    await joinNodes(ports)
    return {
      connectionString: databaseUrl(first),
      ports,
      processIds: nodes.map(node => servers.processIdOf(node)),
      kill: node => servers.kill(node),
      freeze: node => servers.freeze(node),
      restart: node => servers.start(node),
      addNode: async () => {
        await create(NODES)
        return first + NODES
      },
      stop: () => servers.stop(),
    }
  } catch (error) {
    await servers.stop()
    throw error
  }
}

/** The same PostgreSQL with the same settings, without Citus. */
export async function startPlainServer(options: ServerOptions = {}): Promise<PlainServer> {
  const servers = await prepareServers(options)
  try {
    const port = await firstOfFreePorts()
    await servers.create({ node: 0, port, libraries: '' })
    await runStatements(databaseUrl(port, 'postgres'), [`create database ${DATABASE}`])
    const processIds = [servers.processIdOf(0)]
    return { connectionString: databaseUrl(port), processIds, stop: () => servers.stop() }
  } catch (error) {
    await servers.stop()
    throw error
  }
}

function prepareServers(options: ServerOptions) {
  const { parent = process.env[CITUS_FOLDER] ?? tmpdir() } = options
  const { isFlushed = false, shards = SHARDS } = options
  const reason = findCitusObstacle()
  if (reason) throw new Error(`No Citus cluster: ${reason}.`)
  const installation = installed as CitusInstallation
  return PostgresServers.prepare({ installation, parent, isFlushed, shards })
}

/** Creates the database on each server, and makes the first one the coordinator of the others. */
async function joinNodes(ports: readonly number[]): Promise<void> {
  const [coordinator, ...workers] = ports as [number, ...number[]]
  for (const port of ports) {
    await runStatements(databaseUrl(port, 'postgres'), [`create database ${DATABASE}`])
    await runStatements(databaseUrl(port), ['create extension citus'])
  }
  await runStatements(databaseUrl(coordinator), [
    `select citus_set_coordinator_host('127.0.0.1', ${coordinator})`,
    ...workers.map(port => `select citus_add_node('127.0.0.1', ${port})`),
  ])
}

function databaseUrl(port: number, name = DATABASE): string {
  return `postgres://postgres@127.0.0.1:${port}/${name}`
}

async function runStatements(
  connectionString: string,
  statements: readonly string[],
): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const PORT_TRIES_MAX = 100

/** Below the range that the system uses for outgoing connections. */
async function firstOfFreePorts(): Promise<number> {
  for (let tries = 0; tries < PORT_TRIES_MAX; tries += 1) {
    const first = 20_000 + Math.floor(Math.random() * 3_000) * (NODES + 1)
    const ports = Array.from({ length: NODES + 1 }, (_, node) => first + node)
    const free = await Promise.all(ports.map(isFree))
    if (free.every(Boolean)) return first
  }
  throw new Error('there are no four free ports in a row')
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
