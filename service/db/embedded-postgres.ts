import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { settledPostmaster } from './embedded-adoption.ts'
import { clusterPath } from './embedded-cluster.ts'
import { refuseForeignCluster } from './embedded-cluster-owner.ts'
import { openEmbeddedDatabase } from './embedded-database.ts'
import { lastWordsOf } from './embedded-log.ts'
import { claimFolder } from './embedded-owner.ts'
import { folderTrouble } from './embedded-postgres-error.ts'
import { type EmbeddedServing, serveDataFolder } from './embedded-serving.ts'
import { endServer } from './embedded-stop.ts'
import { prepareDataFolder } from './prepare-data-folder.ts'

export interface EmbeddedPostgresOptions {
  /** The cluster lives in its `postgres` folder, the log in its `postgres.log`. */
  dataDirectory: string
  /** On 127.0.0.1; 0 takes any free one. */
  port: number
}

export interface EmbeddedPostgres {
  /** Holds the password: for the pool, never for a log. */
  connectionString: string
  /** True when the server was left over from a service that was killed. */
  adopted: boolean
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
    const release = await claimFolder(folder)
    try {
      return ownedServer(folder, await serveDataFolder(folder, options.port), release)
    } catch (error) {
      release()
      throw error
    }
  } catch (error) {
    throw folderTrouble(error, path)
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
    const postmaster = await settledPostmaster(clusterPath(folder), SETTLE_SECONDS_MAX)
    if (postmaster?.status !== 'ready') return null
    return await openEmbeddedDatabase(folder, postmaster.port)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw folderTrouble(error, path)
  }
}

const SETTLE_SECONDS_MAX = 30

function ownedServer(
  folder: string,
  { postmaster, connectionString, adopted, ended }: EmbeddedServing,
  release: () => void,
): EmbeddedPostgres {
  const { promise: exited, resolve: reportExit } = Promise.withResolvers<string>()
  let stopping: Promise<void> | undefined
  ended.then(how => {
    if (stopping) return
    const lastWords = lastWordsOf(folder)
    const reason = lastWords ? ` after "${lastWords}"` : ''
    reportExit(`The embedded PostgreSQL (process ${postmaster.processId}) ${how}${reason}.`)
  })
  const stop = () => {
    stopping ??= endServer(postmaster).finally(release)
    return stopping
  }
  return { connectionString, adopted, processId: postmaster.processId, exited, stop }
}
