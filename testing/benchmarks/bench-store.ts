import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { loadCredentialKey } from '../../service/program/provisioning/installation-keys.ts'
import {
  type ProvisionedTracker,
  provisionTracker,
} from '../../service/program/provisioning/provision-tracker.ts'
import { STORE_SCHEMA } from '../../service/program/roles/migrate-command.ts'
import { closeAll } from '../../service/program/roles/role.ts'
import { type Database, openDatabase } from '../../service/runtime/db/database.ts'
import { migrate } from '../../service/runtime/db/migrate.ts'
import { createLogger } from '../../service/runtime/http/logger.ts'
import { ensurePartitions } from '../../service/signals/events/partition-store.ts'

/** A separate embedded PostgreSQL with all durability settings of the real one. */
export interface BenchStore extends BenchDatabase {
  dataDirectory: string
  /** Process ID of the postmaster. */
  processId: number
  /** A second migrated database on the same server. */
  newDatabase(name: string): Promise<BenchDatabase>
  /** Provisions another tracker with one destination, as `npm run provision` does. */
  newTracker(): Promise<ProvisionedTracker>
  close(): Promise<void>
}

/** The first database is the one that the service uses on this store. */
export interface BenchDatabase {
  connectionString: string
  database: Database
  tracker: ProvisionedTracker
}

const CONNECTIONS_MAX = 4
const PARTITION_DAYS = 2

/**
 * Starts the store in a new folder, which is removed when the store is closed. `settings` of the
 * server differ from those of the embedded one.
 */
export async function openBenchStore(
  settings: Readonly<Record<string, string>> = {},
): Promise<BenchStore> {
  const dataDirectory = benchFolder()
  const closers = [async () => rmSync(dataDirectory, { recursive: true, force: true })]
  const open = async (connectionString: string) => {
    const database = openBenchDatabase(connectionString)
    closers.push(database.close)
    await migrate(database, STORE_SCHEMA)
    await ensurePartitions(database, new Date(), PARTITION_DAYS)
    return { connectionString, database, tracker: await newTracker(database, dataDirectory) }
  }
  try {
    const { connectionString, processId, stop } = await startEmbeddedPostgres({
      dataDirectory,
      port: 0,
      settings,
    })
    closers.push(stop)
    const { database, tracker } = await open(connectionString)
    const newDatabase = async (name: string) => {
      await database.pool.query(`create database ${name}`)
      return open(Object.assign(new URL(connectionString), { pathname: name }).href)
    }
    return {
      dataDirectory,
      processId,
      connectionString,
      database,
      tracker,
      newTracker: () => newTracker(database, dataDirectory),
      newDatabase,
      close: () => closeAll(closers),
    }
  } catch (error) {
    await closeAll(closers)
    throw error
  }
}

/** A few connections for observation. */
export function openBenchDatabase(connectionString: string): Database {
  return openDatabase({
    connectionString,
    connectionsMax: CONNECTIONS_MAX,
    applicationName: 'signalbox bench',
    onIdleError: () => {},
  })
}

function newTracker(database: Database, dataDirectory: string): Promise<ProvisionedTracker> {
  return provisionTracker(database, {
    workspaceName: 'Benchmark',
    at: new Date(),
    credentialKeys: { current: loadCredentialKey(undefined, dataDirectory), previous: [] },
    logger: createLogger('silent'),
  })
}

/** In the repository, because /tmp is in memory on many machines and ignores flushes. */
export function benchFolder(): string {
  const parent = join(import.meta.dirname, '../../.data')
  mkdirSync(parent, { recursive: true })
  return mkdtempSync(join(parent, 'bench-'))
}
