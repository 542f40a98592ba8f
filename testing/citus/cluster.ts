import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const SCRIPT = join(import.meta.dirname, 'cluster.sh')
const DEFAULT_ARCHIVE = '/work/shared/citus/citus-13.0.5-pg15-linux-x64.tar.xz'
const INSTALLED = '/usr/share/postgresql/15/extension/citus.control'
const NODES = 3
/** Two on each worker: a table with 32 takes eight times as long to create and to copy. */
const SHARDS = 4

/** The environment variable with the addresses of the cluster that all test files share. */
export const CITUS_CLUSTER = 'SIGNALBOX_TEST_CITUS'

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
  /** Starts a killed node again. */
  restart(node: number): Promise<void>
  /** Starts a fourth node, which is not part of the cluster yet. Returns its port. */
  addNode(): Promise<number>
}

/**
 * The reason why this machine cannot run a cluster, or null if it can. Suites that need one are
 * skipped with this reason. Installs PostgreSQL 15 and Citus if missing.
 */
export function findCitusObstacle(): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'Citus needs Linux on x64'
  if (process.getuid?.() !== 0) return 'the Citus cluster is started as root'
  if (!/^VERSION_CODENAME=bookworm$/m.test(osRelease())) return 'the Citus archive is for Debian 12'
  const archive = process.env.SIGNALBOX_CITUS_ARCHIVE ?? DEFAULT_ARCHIVE
  if (!existsSync(INSTALLED) && !existsSync(archive)) {
    return `there is no Citus archive at ${archive} (SIGNALBOX_CITUS_ARCHIVE)`
  }
  if (spawnSync('bash', [SCRIPT, 'install'], { stdio: 'ignore' }).status !== 0) {
    return 'PostgreSQL 15 and Citus could not be installed'
  }
  return null
}

/** The cluster that all test files share; null when they run on one PostgreSQL. */
export function sharedCluster(): CitusAddresses | null {
  const addresses = process.env[CITUS_CLUSTER]
  return addresses ? JSON.parse(addresses) : null
}

export interface ServerOptions {
  /** The parent of the servers' new folder; the user postgres must have access to it. */
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
  const { folder, run, stop } = prepareServers(options)
  try {
    const first = await firstOfFreePorts()
    const connectionString = await run('start', folder, String(first))
    const nodes = Array.from({ length: NODES }, (_, node) => node)
    return {
      connectionString,
      ports: nodes.map(node => first + node),
      processIds: nodes.map(node => processIdOf(folder, node)),
      kill: async node => void (await run('kill', folder, String(node))),
      restart: async node => void (await run('restart', folder, String(node))),
      addNode: async () => {
        const port = first + NODES
        await run('add', folder, String(NODES), String(port))
        return port
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The same PostgreSQL with the same settings, without Citus. */
export async function startPlainServer(options: ServerOptions = {}): Promise<PlainServer> {
  const { folder, run, stop } = prepareServers(options)
  try {
    const port = await firstOfFreePorts()
    const connectionString = await run('plain', folder, String(port))
    return { connectionString, processIds: [processIdOf(folder, 0)], stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function prepareServers({ parent = tmpdir(), isFlushed = false, shards = SHARDS }: ServerOptions) {
  const reason = findCitusObstacle()
  if (reason) throw new Error(`No Citus cluster: ${reason}.`)
  const folder = mkdtempSync(join(parent, 'signalbox-citus-'))
  const settings = { CITUS_FSYNC: isFlushed ? 'on' : 'off', CITUS_SHARDS: String(shards) }
  const run = async (...words: string[]) => {
    const env = { ...process.env, ...settings }
    const { stdout } = await promisify(execFile)('bash', [SCRIPT, ...words], { env })
    return stdout.trim()
  }
  const stop = async () => {
    await run('stop', folder)
    rmSync(folder, { recursive: true, force: true })
  }
  return { folder, run, stop }
}

function processIdOf(folder: string, node: number): number {
  return Number.parseInt(readFileSync(join(folder, `node${node}`, 'postmaster.pid'), 'utf8'), 10)
}

function osRelease(): string {
  return existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : ''
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
