import { type Database, openDatabase } from '../db/database.ts'
import {
  type EmbeddedPostgres,
  findRunningEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../db/embedded-postgres.ts'
import type { ServiceLogger } from '../http/service-app.ts'
import type { Settings } from '../settings/settings.ts'
import { StartError } from './start-error.ts'

export interface Store {
  database: Database
  connectionString: string
  embedded: EmbeddedPostgres | null
  close(): Promise<void>
}

export interface StoreRequest {
  settings: Settings
  logger: ServiceLogger
  /** Names the role in pg_stat_activity. */
  role: string
  /** `start`: this process owns the embedded server. `join`: it must be running already. */
  embedded: 'start' | 'join'
}

/** Opens `DATABASE_URL`, or the embedded PostgreSQL below the data folder. */
export async function openStore(request: StoreRequest): Promise<Store> {
  const { settings, logger, role } = request
  const embedded = await embeddedOf(request)
  const connectionString =
    settings.databaseUrl ?? embedded?.connectionString ?? (await runningStore(settings))
  const database = openDatabase({
    connectionString,
    connectionsMax: settings.databaseConnectionsMax,
    applicationName: `signalbox ${role}`,
    onIdleError: err => logger.warn({ err }, 'a store connection broke'),
  })
  const close = async () => {
    await database.close()
    await embedded?.stop()
  }
  return { database, connectionString, embedded, close }
}

async function embeddedOf({ settings, embedded }: StoreRequest): Promise<EmbeddedPostgres | null> {
  if (settings.databaseUrl !== undefined || embedded === 'join') return null
  return startEmbeddedPostgres({
    dataDirectory: settings.dataDirectory,
    port: settings.databasePort,
  })
}

async function runningStore({ dataDirectory }: Settings): Promise<string> {
  const running = await findRunningEmbeddedPostgres(dataDirectory)
  if (running) return running
  throw new StartError(
    `No PostgreSQL runs on ${dataDirectory}: start "npm start" first, or set DATABASE_URL.`,
  )
}
