import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findBinaries } from './binaries.ts'
import { type ClusterLocation, clusterPath, ensureCluster } from './cluster.ts'
import { findClusterOwner, refuseForeignCluster } from './cluster-owner.ts'
import { openEmbeddedDatabase } from './connection.ts'
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
  /** The cluster lives in its `postgres` folder, the log in its `postgres.log`. */
  dataDirectory: string
  /** On 127.0.0.1; 0 takes any free one. */
  port: number
}

export interface EmbeddedPostgres {
  /** Holds the password: for the pool, never for a log. */
  connectionString: string
  /** True when the server was left over from a service that was killed. */
  isAdopted: boolean
  processId: number
  /** Says in one sentence why, when the server goes away without `stop`. */
  exited: Promise<string>
  /** Ends the server and gives the data folder free. May be called again, and after `exited`. */
  stop(): Promise<void>
}

/**
 * Starts the PostgreSQL 18 that npm installed, on a data folder that belongs to this process until
 * `stop`. The server outlives a kill of this process; the next start adopts it. Throws an
 * EmbeddedPostgresError whose one sentence says what to do.
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
      return createHandle(folder, await adoptOrStartServer(folder, options.port), release)
    } catch (error) {
      release()
      throw error
    }
  } catch (error) {
    throw toFolderError(error, path)
  }
}

/**
 * The connection string of a server that already runs on this data folder, or null: for the roles
 * that work beside the service that owns it.
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
  { postmaster, connectionString, isAdopted: adopted, ended }: RunningServer,
  release: () => void,
): EmbeddedPostgres {
  const { promise: exited, resolve: reportExit } = Promise.withResolvers<string>()
  let stopping: Promise<void> | undefined
  ended.then(how => {
    if (stopping) return
    const lastWords = readLastFatalLine(folder)
    const reason = lastWords ? ` after "${lastWords}"` : ''
    reportExit(`The embedded PostgreSQL (process ${postmaster.processId}) ${how}${reason}.`)
  })
  const stop = () => {
    stopping ??= stopServer(postmaster).finally(release)
    return stopping
  }
  return { connectionString, isAdopted: adopted, processId: postmaster.processId, exited, stop }
}

/** A server that lets us in, and the promise of how it will end. */
interface RunningServer {
  postmaster: Postmaster
  connectionString: string
  isAdopted: boolean
  ended: Promise<string>
}

/** A child of a killed server may be busy with one statement, and those may take a minute. */
const TRIES_MAX = 120
const BETWEEN_TRIES_MILLISECONDS = 500

/**
 * Adopts the server of a data folder or starts one, and tries again while what stands in the way
 * may pass by itself: children of a killed server, or a free port that was just taken.
 */
async function adoptOrStartServer(folder: string, port: number): Promise<RunningServer> {
  for (let tries = 1; ; tries += 1) {
    const adopted = await adoptServer(folder, port)
    if (adopted)
      return { ...adopted, isAdopted: true, ended: waitForAdoptedExit(adopted.postmaster) }
    const place = await locateCluster(folder)
    const cluster = await ensureCluster(place)
    const launch = await launchServer(place, cluster, port === 0 ? await findFreePort() : port)
    if (launch.outcome === 'ready') {
      const connectionString = await openOrStop(folder, launch.postmaster)
      return { ...launch, connectionString, isAdopted: false }
    }
    if (tries === TRIES_MAX || !isTransient(launch, port)) throw launch.error
    await delay(BETWEEN_TRIES_MILLISECONDS)
  }
}

async function locateCluster(folder: string): Promise<ClusterLocation> {
  const binaries = await findBinaries()
  const clusterOwner = findClusterOwner(clusterPath(folder))
  const account = await chooseAccount({ program: binaries.postgres, folder, clusterOwner })
  return { binaries, account, folder }
}

function isTransient({ transientCause: passing }: ServerFailure, port: number): boolean {
  return passing === 'occupied' || (passing === 'port' && port === 0)
}

async function openOrStop(folder: string, postmaster: Postmaster): Promise<string> {
  try {
    return await openEmbeddedDatabase(folder, postmaster.port)
  } catch (cause) {
    await stopServer(postmaster)
    if (cause instanceof EmbeddedPostgresError) throw cause
    throw new EmbeddedPostgresError(
      `PostgreSQL started but let nobody in: see ${serverLogPath(folder)}, then start again.`,
      { cause },
    )
  }
}

const EXIT_POLL_MILLISECONDS = 1000

/** An adopted server is not our child: the system tells us nothing, so we look. */
async function waitForAdoptedExit(postmaster: Postmaster): Promise<string> {
  while (isRunning(postmaster)) {
    await delay(EXIT_POLL_MILLISECONDS, undefined, { ref: false })
  }
  return 'is gone'
}

interface AdoptedServer {
  postmaster: Postmaster
  connectionString: string
}

/**
 * Takes over the server that a killed service left behind. One that is going down, that listens
 * on another port than the one asked for or that lets nobody in is ended instead. Null means that
 * none runs now, and that no lock file stands in the way of a new one.
 */
async function adoptServer(folder: string, port: number): Promise<AdoptedServer | null> {
  const cluster = clusterPath(folder)
  const postmaster = await waitForSettledPostmaster(cluster, RECOVERY_SECONDS_MAX)
  if (postmaster === null) {
    await neutralizeStaleLockFile(cluster)
    return null
  }
  const isWanted = port === 0 || port === postmaster.port
  if (postmaster.status === 'ready' && isWanted) {
    const connectionString = await tryOpenDatabase(folder, postmaster.port)
    if (connectionString !== null) return { postmaster, connectionString }
  }
  await stopServer(postmaster)
  return null
}

/** The running server of a cluster, once it is past its start; null when there is none. */
async function waitForSettledPostmaster(
  cluster: string,
  secondsMax: number,
): Promise<Postmaster | null> {
  const isSettled = () => findPostmaster(cluster)?.status !== 'starting'
  await waitUntil(isSettled, { timeoutSeconds: secondsMax, intervalMilliseconds: 50 })
  return findPostmaster(cluster)
}

async function tryOpenDatabase(folder: string, port: number): Promise<string | null> {
  try {
    return await openEmbeddedDatabase(folder, port)
  } catch (error) {
    // A wrong password is for a person to mend; a server that is merely unwell is replaced.
    if (error instanceof EmbeddedPostgresError) throw error
    return null
  }
}
