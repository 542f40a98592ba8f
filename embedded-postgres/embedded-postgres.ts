import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findBinaries, findSystemBinaries, type PostgresBinaries } from './binaries.ts'
import { type ClusterLocation, clusterPath, ensureCluster } from './cluster.ts'
import { findClusterOwner, refuseForeignCluster } from './cluster-owner.ts'
import { openEmbeddedDatabase, readServerVersion } from './connection.ts'
import { lockDataFolder, prepareDataFolder } from './data-folder.ts'
import {
  EmbeddedPostgresError,
  type ServerFailure,
  toFolderError,
} from './embedded-postgres-error.ts'
import { findFreePort } from './free-port.ts'
import { launchServer, RECOVERY_SECONDS_MAX } from './launch-server.ts'
import {
  findPostmaster,
  isRunning,
  neutralizeStaleLockFile,
  type Postmaster,
  stopServer,
  waitUntil,
} from './postmaster.ts'
import { readLastFatalLine, serverLogPath } from './server-log.ts'
import { chooseAccount } from './unprivileged-account.ts'

interface EmbeddedPostgresOptions {
  /** The cluster is its folder `postgres`, the log its file `postgres.log`. */
  dataDirectory: string
  /** On 127.0.0.1. 0 takes any free port. */
  port: number
  /** The folder of a PostgreSQL 18 of the operating system; by default, npm's is used. */
  binariesFolder?: string | undefined
  /** Of the server, instead of the usual ones: tests need no row after a power cut. */
  settings?: Readonly<Record<string, string>> | undefined
}

export interface EmbeddedPostgres {
  /** Contains the password: for the pool, never for a log. */
  connectionString: string
  /** True for a server that a killed service left behind. */
  isAdopted: boolean
  processId: number
  /** Such as 18.4. */
  version: string
  /** Resolves to one sentence with the reason when the server exits without `stop`. */
  exited: Promise<string>
  /** Stops the server and unlocks the data folder. Idempotent; may follow `exited`. */
  stop(): Promise<void>
}

/**
 * Starts PostgreSQL 18 on a data folder that this process owns until `stop`. The server survives a
 * kill of this process, and the next start adopts it. Throws an EmbeddedPostgresError whose message
 * is one sentence with a fix.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const path = resolve(options.dataDirectory)
  try {
    const folder = prepareDataFolder(path)
    refuseForeignCluster(clusterPath(folder))
    const release = await lockDataFolder(folder)
    try {
      const { port, binariesFolder, settings } = options
      const binaries = await (binariesFolder === undefined
        ? findBinaries()
        : findSystemBinaries(binariesFolder))
      const server = await adoptOrStartServer({ folder, port, binaries, settings })
      return createHandle(folder, { ...server, version: binaries.version }, release)
    } catch (error) {
      release()
      throw error
    }
  } catch (error) {
    throw toFolderError(error, path)
  }
}

/**
 * Returns the connection string of the server that runs on this data folder, or null: for roles
 * beside the service that owns the folder.
 */
export async function findRunningEmbeddedPostgres(dataDirectory: string): Promise<string | null> {
  const path = resolve(dataDirectory)
  try {
    const folder = realpathSync(path)
    refuseForeignCluster(clusterPath(folder))
    const postmaster = await waitForSettledPostmaster(clusterPath(folder), SETTLE_SECONDS_MAX)
    if (postmaster?.status !== 'ready') return null
    return await openEmbeddedDatabase(folder, postmaster.port)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw toFolderError(error, path)
  }
}

const SETTLE_SECONDS_MAX = 30

function createHandle(
  folder: string,
  { postmaster, connectionString, isAdopted, ended, version }: RunningServer & { version: string },
  release: () => void,
): EmbeddedPostgres {
  const { promise: exited, resolve: reportExit } = Promise.withResolvers<string>()
  let stopping: Promise<void> | undefined
  ended.then(end => {
    if (stopping) return
    const lastError = readLastFatalLine(folder)
    const reason = lastError ? ` after "${lastError}"` : ''
    reportExit(`The embedded PostgreSQL (process ${postmaster.processId}) ${end}${reason}.`)
  })
  const stop = () => {
    stopping ??= stopServer(postmaster).finally(release)
    return stopping
  }
  const { processId } = postmaster
  return { connectionString, isAdopted, processId, version, exited, stop }
}

/** A server that accepts our connections. `ended` resolves to how it ended. */
interface RunningServer {
  postmaster: Postmaster
  connectionString: string
  isAdopted: boolean
  ended: Promise<string>
}

interface WantedServer {
  folder: string
  port: number
  binaries: PostgresBinaries
  settings: EmbeddedPostgresOptions['settings']
}

/** A child of a killed server may be busy with one statement, for up to a minute. */
const ATTEMPTS_MAX = 120
const RETRY_MILLISECONDS = 500

/**
 * Adopts the server of a data folder or starts one. Retries while the cause of a failure is
 * transient: children of a killed server, or a free port that another program just took.
 */
async function adoptOrStartServer(wanted: WantedServer): Promise<RunningServer> {
  const { folder, port } = wanted
  for (let attempts = 1; ; attempts += 1) {
    const adopted = await adoptServer(wanted)
    if (adopted) return adopted
    const location = await locateCluster(wanted)
    const cluster = await ensureCluster(location)
    const launch = await launchServer(location, cluster, port === 0 ? await findFreePort() : port)
    if (launch.outcome === 'ready') {
      const connectionString = await openOrStop(folder, launch.postmaster)
      return { ...launch, connectionString, isAdopted: false }
    }
    if (attempts === ATTEMPTS_MAX || !isTransient(launch, port)) throw launch.error
    await delay(RETRY_MILLISECONDS)
  }
}

async function locateCluster({
  folder,
  binaries,
  settings,
}: WantedServer): Promise<ClusterLocation> {
  const clusterOwner = findClusterOwner(clusterPath(folder))
  const account = await chooseAccount({ program: binaries.postgres, folder, clusterOwner })
  return { binaries, account, folder, settings }
}

function isTransient({ transientCause }: ServerFailure, port: number): boolean {
  return transientCause === 'occupied' || (transientCause === 'port' && port === 0)
}

async function openOrStop(folder: string, postmaster: Postmaster): Promise<string> {
  try {
    return await openEmbeddedDatabase(folder, postmaster.port)
  } catch (cause) {
    await stopServer(postmaster)
    if (cause instanceof EmbeddedPostgresError) throw cause
    throw new EmbeddedPostgresError(
      `PostgreSQL started but refused the connection: see ${serverLogPath(folder)}, ` +
        'then start again.',
      { cause },
    )
  }
}

const EXIT_POLL_MILLISECONDS = 1000

/** An adopted server is not a child process, so its exit is polled. */
async function waitForAdoptedExit(postmaster: Postmaster): Promise<string> {
  while (isRunning(postmaster)) {
    await delay(EXIT_POLL_MILLISECONDS, undefined, { ref: false })
  }
  return 'exited'
}

/**
 * Adopts the server that a killed service left behind. Stops it instead when it is shutting down,
 * has another version or port than the given ones, or refuses connections: otherwise an update of
 * PostgreSQL would have no effect. Null means that no server runs and that no stale lock file
 * prevents a start.
 */
async function adoptServer({
  folder,
  port,
  binaries,
}: WantedServer): Promise<RunningServer | null> {
  const cluster = clusterPath(folder)
  const postmaster = await waitForSettledPostmaster(cluster, RECOVERY_SECONDS_MAX)
  if (postmaster === null) {
    await neutralizeStaleLockFile(cluster)
    return null
  }
  const isWanted = port === 0 || port === postmaster.port
  if (postmaster.status === 'ready' && isWanted) {
    const connectionString = await tryOpenDatabase(folder, postmaster.port)
    if (connectionString !== null && (await hasVersion(connectionString, binaries.version))) {
      const ended = waitForAdoptedExit(postmaster)
      return { postmaster, connectionString, isAdopted: true, ended }
    }
  }
  await stopServer(postmaster)
  return null
}

/** The running server of a cluster once it has started; null when there is none. */
async function waitForSettledPostmaster(
  cluster: string,
  secondsMax: number,
): Promise<Postmaster | null> {
  const isSettled = () => findPostmaster(cluster)?.status !== 'starting'
  await waitUntil(isSettled, { timeoutSeconds: secondsMax, intervalMilliseconds: 50 })
  return findPostmaster(cluster)
}

async function hasVersion(connectionString: string, version: string): Promise<boolean> {
  // Distributions append their own: "18.6 (Debian 18.6-1)".
  const running = await readServerVersion(connectionString).catch(() => '')
  return running.split(' ', 1)[0] === version
}

async function tryOpenDatabase(folder: string, port: number): Promise<string | null> {
  try {
    return await openEmbeddedDatabase(folder, port)
  } catch (error) {
    // A wrong password needs a person; a server that only misbehaves is replaced.
    if (error instanceof EmbeddedPostgresError) throw error
    return null
  }
}
