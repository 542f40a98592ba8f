import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Tables } from './tables.ts'

/**
 * The store as the rooms see it. `query` is the typed way; `pool` is for the hot path, where a
 * named prepared statement saves a third of the CPU of one typed query.
 */
export interface Database {
  query: Kysely<Tables>
  pool: pg.Pool
  /** Throws when the store does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** A transaction, or the store itself where one statement is enough. */
export type Transaction = Pick<Database, 'query'>

export interface DatabaseOptions {
  connectionString: string
  connectionsMax: number
  /** Shown in pg_stat_activity, so that an operator sees which role holds a connection. */
  applicationName: string
  /** A connection breaks at any time, also between two statements; no caller would hear of it. */
  onIdleError: (error: Error) => void
  /** For migrations: a statement may take as long as it needs. */
  hasNoTimeouts?: boolean
}

const CONNECT_MILLISECONDS_MAX = 5_000
const STATEMENT_MILLISECONDS_MAX = 60_000
/** A server that vanished without a word cancels nothing; then we stop waiting ourselves. */
const ANSWER_MILLISECONDS_MAX = 65_000

const LIMITS = {
  statement_timeout: STATEMENT_MILLISECONDS_MAX,
  query_timeout: ANSWER_MILLISECONDS_MAX,
}

/**
 * Every statement here reaches rows by a key, and the planner should see no other way: how it
 * estimates a table that was never analyzed, or one that has grown a thousandfold since, must not
 * decide between a thousand index look-ups and reading the whole table
 * (docs/decisions/0022, `service/statement-plans.test.ts`).
 */
export const PLANNER_SETTINGS = [
  'enable_seqscan=off',
  'enable_mergejoin=off',
  'random_page_cost=1.1',
  'jit=off',
]

/** The ledger and the deliveries, then everything else (docs/decisions/0023). */
const SEARCH_PATH = 'search_path=signalbox_store,public'

const SESSION = [...PLANNER_SETTINGS, SEARCH_PATH].map(setting => `-c ${setting}`).join(' ')

export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.connectionsMax,
    application_name: options.applicationName,
    options: SESSION,
    connectionTimeoutMillis: CONNECT_MILLISECONDS_MAX,
    ...(options.hasNoTimeouts ? {} : LIMITS),
    keepAlive: true,
    types: { getTypeParser: findTypeParser },
  })
  // The pool listens only while a connection is idle. Inside a transaction, between two statements,
  // an error without a listener would end the process.
  pool.on('connect', client => client.on('error', options.onIdleError))
  pool.on('error', () => {})
  const query = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  const reach = async () => void (await pool.query('select 1'))
  const close = async () => {
    await query.destroy()
    // Kysely ends the pool only when it was asked something itself.
    if (!pool.ending) await pool.end()
  }
  return { query, pool, ping: reach, close }
}

/** Commits what `act` did, or nothing of it when it throws. */
export async function inTransaction<T>(
  { pool }: Pick<Database, 'pool'>,
  act: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken = true
  try {
    await client.query('begin')
    const result = await act(client)
    await client.query('commit')
    broken = false
    return result
  } finally {
    // A connection that is given up rolls back by itself.
    client.release(broken)
  }
}

/**
 * Waits five milliseconds in PostgreSQL, because timers belong to workers. Returns the clock of
 * PostgreSQL in seconds.
 */
export async function sleepInDatabase({ pool }: Pick<Database, 'pool'>): Promise<number> {
  const { rows } = await pool.query(
    'select extract(epoch from clock_timestamp())::float8 as now from pg_sleep(0.005)',
  )
  return rows[0].now
}

/** Whether the database has the Citus extension. */
export async function hasCitus({ pool }: Pick<Database, 'pool'>): Promise<boolean> {
  const { rows } = await pool.query(`select 1 from pg_extension where extname = 'citus'`)
  return rows.length > 0
}

const CLUSTER_CHECKS = new WeakMap<Database['pool'], Promise<boolean>>()

/**
 * Runs `hasCitus` once per pool. Creating the extension later requires a restart
 * (docs/operations/scale.md); distributing tables does not change the result.
 */
export function isCitusCluster({ pool }: Pick<Database, 'pool'>): Promise<boolean> {
  const cached = CLUSTER_CHECKS.get(pool)
  if (cached) return cached
  const check = hasCitus({ pool })
  CLUSTER_CHECKS.set(pool, check)
  check.catch(() => CLUSTER_CHECKS.delete(pool))
  return check
}

const BIGINT = 20
const DATE = 1082

/**
 * `numeric` stays text, so that money never becomes a float. `bigint` becomes a number and refuses
 * what would lose digits. `date` stays text: it is a day, not a moment in some time zone.
 */
function findTypeParser(oid: number, format?: unknown) {
  if (oid === BIGINT) return safeInteger
  if (oid === DATE) return (text: string) => text
  return pg.types.getTypeParser(oid, format as 'text')
}

function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError('a bigint does not fit a safe integer')
  return value
}
