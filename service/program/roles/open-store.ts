import {
  type EmbeddedPostgres,
  findRunningEmbeddedPostgres,
  startEmbeddedPostgres,
} from '@signalbox/embedded-postgres'
import { findPoolerProblem } from '../../runtime/db/connection-pooler.ts'
import { type Database, openDatabase } from '../../runtime/db/database.ts'
import { isConnectTimeout } from '../../runtime/db/database-errors.ts'
import { requireCurrentSchema } from '../../runtime/db/migrate.ts'
import { openStoreNodes, type StoreNodes } from '../../runtime/db/store-nodes.ts'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { monotonicSeconds } from '../../runtime/util/time.ts'
import { type RoleContext, StartError } from './role.ts'

export interface Store {
  database: Database
  /** Where trackers live: the database itself, or nodes of its cluster. */
  nodes: StoreNodes
  connectionString: string
  embedded: EmbeddedPostgres | null
  close(): Promise<void>
}

export interface OpenStoreOptions {
  settings: Settings
  logger: ServiceLogger
  /** Shown in pg_stat_activity. */
  role: string
  /** `start`: this process owns the embedded server. `join`: the server must be running already. */
  embedded: 'start' | 'join'
}

/** Runs an operator command on a running store that has the current schema. */
export async function runOnStore(
  { settings, logger }: RoleContext,
  role: string,
  run: (store: Store) => Promise<void>,
): Promise<void> {
  const store = await openStore({ settings, logger, role, embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    await run(store)
  } finally {
    await store.close()
  }
}

/** Opens `DATABASE_URL`, or the embedded PostgreSQL below the data folder. */
export async function openStore(request: OpenStoreOptions): Promise<Store> {
  const { settings, logger, role } = request
  const embedded = await startEmbedded(request)
  const connectionString =
    settings.databaseUrl ?? embedded?.connectionString ?? (await requireRunningStore(settings))
  const options = {
    connectionString,
    connectionsMax: settings.databaseConnectionsMax,
    applicationName: `signalbox ${role}`,
    onIdleError: (err: Error) => logger.warn({ err }, 'a database connection failed'),
    monotonicSeconds,
  }
  const database = openDatabase(options)
  let nodes: StoreNodes | null = null
  const close = async () => {
    await nodes?.close()
    await database.close()
    await embedded?.stop()
  }
  try {
    await awaitAnswer(database, logger)
    await requireUsablePooler(database, settings)
    nodes = await openStoreNodes(database, options)
    return { database, nodes, connectionString, embedded, close }
  } catch (error) {
    await close()
    throw error instanceof StartError || settings.databaseUrl === undefined
      ? error
      : createConnectionError(settings.databaseUrl, error)
  }
}

/** Behind a pooler that drops what a connection needs, requests would fail one by one. */
async function requireUsablePooler(database: Database, { databaseUrl }: Settings): Promise<void> {
  if (databaseUrl === undefined) return
  const problem = await findPoolerProblem(database)
  if (problem !== null) throw new StartError(problem)
}

/** Of five seconds each. */
const CONNECT_TRIES_MAX = 12

/**
 * Nobody waits for a response during a start, and a busy machine may need more than five seconds
 * for the first connection, while the program compiles and other processes start. Any other failure
 * ends the start at once.
 */
async function awaitAnswer(database: Database, logger: ServiceLogger): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await database.ping()
      return
    } catch (error) {
      if (!isConnectTimeout(error) || tries === CONNECT_TRIES_MAX) throw error
      logger.warn('PostgreSQL has not answered yet; trying again')
    }
  }
}

async function startEmbedded({
  settings,
  embedded,
}: OpenStoreOptions): Promise<EmbeddedPostgres | null> {
  if (settings.databaseUrl !== undefined || embedded === 'join') return null
  return startEmbeddedPostgres({
    dataDirectory: settings.dataDirectory,
    port: settings.databasePort,
    binariesFolder: settings.postgresBinariesFolder,
  })
}

async function requireRunningStore({ dataDirectory }: Settings): Promise<string> {
  const running = await findRunningEmbeddedPostgres(dataDirectory)
  if (running) return running
  throw new StartError(
    `No PostgreSQL runs on ${dataDirectory}: start "signalbox-server all" first, ` +
      'or set DATABASE_URL.',
  )
}

/**
 * Names the server, the problem and what the server or the driver says about it, never the password
 * of the address.
 */
export function createConnectionError(databaseUrl: string, cause: unknown): StartError {
  const { hostname, port } = new URL(databaseUrl)
  const server = hostname === '' ? '' : ` at ${hostname}${port === '' ? '' : `:${port}`}`
  const { code: given, message } = cause as { code?: unknown; message?: unknown }
  const code = String(given ?? 'no code')
  const text = String(message ?? '')
  const sentence =
    CONNECTION_ERRORS[code] ??
    CONNECTION_MESSAGES.find(([pattern]) => pattern.test(text))?.[1] ??
    'DATABASE_URL cannot be used'
  // Node's text of a connection that failed repeats the code and the address.
  const detail = REPEATS_CODE.test(text) ? '' : `: ${text.replace(/\s+/g, ' ').replace(/\.$/, '')}`
  return new StartError(`${sentence}${server} (${code})${detail}.`, { cause })
}

const REPEATS_CODE = /^(connect|getaddrinfo|read|write) E[A-Z]+\b|^$/

const NAME_CA =
  'The certificate of PostgreSQL is signed by no authority that is known here: name the file of ' +
  'its CA in DATABASE_URL, as in ?sslmode=verify-full&sslrootcert=/path/ca.pem,'

/** By the error code of Node or the SQLSTATE of PostgreSQL. */
const CONNECTION_ERRORS: Record<string, string> = {
  ECONNREFUSED: 'No PostgreSQL listens where DATABASE_URL points,',
  ENOTFOUND: 'DATABASE_URL names a host that is not known,',
  ENOENT: 'DATABASE_URL names a file that does not exist, for PostgreSQL',
  '28P01': 'The user or the password in DATABASE_URL is refused by the PostgreSQL',
  '28000': 'The user in DATABASE_URL is refused by the PostgreSQL',
  '3D000': 'The database in DATABASE_URL does not exist in the PostgreSQL',
  '53100': 'The disk is full of the PostgreSQL',
  '53300': 'Too many connections are open to the PostgreSQL',
  '57P03': 'PostgreSQL is still starting: try again; it runs',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NAME_CA,
  UNABLE_TO_GET_ISSUER_CERT: NAME_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NAME_CA,
  SELF_SIGNED_CERT_IN_CHAIN: NAME_CA,
  DEPTH_ZERO_SELF_SIGNED_CERT: NAME_CA,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate of PostgreSQL is for another name: write the host in DATABASE_URL as the ' +
    'certificate does, instead of the one',
  CERT_HAS_EXPIRED: 'The certificate has expired: renew that of the PostgreSQL',
  CERT_NOT_YET_VALID:
    'The certificate is not valid yet: set the clocks, here and of the PostgreSQL',
}

/** Errors without a code, and those whose code says too little. */
const CONNECTION_MESSAGES: readonly [pattern: RegExp, sentence: string][] = [
  [
    /does not support SSL/,
    'PostgreSQL has TLS off: set ssl = on there, or remove sslmode from DATABASE_URL, ' +
      'for the server',
  ],
  [
    /unsupported startup parameter/i,
    'A pooler such as PgBouncer is in between: set its ignore_startup_parameters = options, ' +
      'statement_timeout and the values of the role (docs/operations/postgresql.md),',
  ],
]
