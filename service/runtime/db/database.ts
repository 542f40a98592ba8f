import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Tables } from './tables.ts'

/**
 * `query` builds typed statements. `pool` is for the hot path, where a named prepared statement
 * saves a third of the CPU of a typed one.
 */
export interface Database {
  query: Kysely<Tables>
  pool: pg.Pool
  /** Throws when the store is unavailable. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** A transaction, or the store itself for a single statement. */
export type Transaction = Pick<Database, 'query'>

export interface DatabaseOptions {
  connectionString: string
  connectionsMax: number
  /** Shown in pg_stat_activity, so that an operator can tell the roles apart. */
  applicationName: string
  /** A connection may break between two statements, when no caller waits for an error. */
  onIdleError: (error: Error) => void
  /** For migrations: statements and waits for locks have no time limit. */
  hasNoTimeouts?: boolean
  /** For commands that only look: PostgreSQL refuses every change. */
  isReadOnly?: boolean
}

const CONNECT_MILLISECONDS_MAX = 5_000
const STATEMENT_MILLISECONDS_MAX = 60_000
/**
 * A statement waits for a lock less long than the caller of createEvent waits for an answer. A slow
 * disk does not end a statement so early: repeated work would make it slower still
 * (docs/decisions/0053).
 */
const LOCK_MILLISECONDS_MAX = 4_000
/** A server that has vanished cancels no statement, so the client has a limit as well. */
const QUERY_MILLISECONDS_MAX = 65_000

const LIMITS = {
  statement_timeout: STATEMENT_MILLISECONDS_MAX,
  query_timeout: QUERY_MILLISECONDS_MAX,
}

/**
 * Every statement reads rows by a key, and the planner must not have another choice: estimates for
 * a table that was never analyzed, or that has grown a thousandfold since, must not decide between
 * a thousand index lookups and a scan of the whole table (docs/decisions/0022,
 * `service/statement-plans.test.ts`).
 */
export const PLANNER_SETTINGS = [
  'enable_seqscan=off',
  'enable_mergejoin=off',
  'random_page_cost=1.1',
  'jit=off',
]

/** The ledger and the deliveries first, then everything else (docs/decisions/0023). */
const SEARCH_PATH = 'search_path=signalbox_store,public'

const SESSION = [...PLANNER_SETTINGS, SEARCH_PATH]
const LOCK_LIMIT = `lock_timeout=${LOCK_MILLISECONDS_MAX}`
const READ_ONLY = 'default_transaction_read_only=on'

/** What a pooler in between must give to the role, because it drops startup options. */
export const ROLE_SETTINGS = [
  ...SESSION,
  LOCK_LIMIT,
  `statement_timeout=${STATEMENT_MILLISECONDS_MAX}`,
]

function buildSessionOptions({ isReadOnly, hasNoTimeouts }: DatabaseOptions): string {
  const settings = [...SESSION]
  if (!hasNoTimeouts) settings.push(LOCK_LIMIT)
  if (isReadOnly) settings.push(READ_ONLY)
  return settings.map(setting => `-c ${setting}`).join(' ')
}

export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.connectionsMax,
    application_name: options.applicationName,
    options: buildSessionOptions(options),
    connectionTimeoutMillis: CONNECT_MILLISECONDS_MAX,
    ...(options.hasNoTimeouts ? {} : LIMITS),
    keepAlive: true,
    types: { getTypeParser: findTypeParser },
  })
  // The pool listens only on idle connections. Between two statements of a transaction, an error
  // without a listener would crash the process.
  pool.on('connect', client => client.on('error', options.onIdleError))
  pool.on('error', () => {})
  const query = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  const ping = async () => {
    await pool.query('select 1')
  }
  const close = async () => {
    await query.destroy()
    // Kysely ends the pool only if it has run a query.
    if (!pool.ending) await pool.end()
  }
  return { query, pool, ping, close }
}

/** Commits what `work` did, or rolls back when it throws. */
export async function inTransaction<T>(
  { pool }: Pick<Database, 'pool'>,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let isBroken = true
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    isBroken = false
    return result
  } finally {
    // Closing the connection rolls back.
    client.release(isBroken)
  }
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

/** A condition on the trackers of a statement, or none. */
export interface TrackerCondition {
  /** The value of the parameter in `condition`; empty without a condition. */
  values: readonly string[]
  /** SQL that follows another condition; empty without a condition. */
  condition: (column: string, parameter: number) => string
}

export const NO_TRACKER_CONDITION: TrackerCondition = { values: [], condition: () => '' }

function createTrackerCondition(trackerId: string): TrackerCondition {
  return {
    values: [trackerId],
    condition: (column, parameter) => `and ${column} = $${parameter}::uuid`,
  }
}

/**
 * Queries rows of several trackers: with one statement on one PostgreSQL, tracker by tracker on a
 * Citus cluster. There a statement with its tracker as a parameter goes to one shard, and one that
 * joins its table with a list goes to all shards of all nodes.
 */
export async function queryByTracker<Row extends { trackerId: string }, Result>(
  database: Pick<Database, 'pool'>,
  rows: readonly Row[],
  query: (rows: readonly Row[], tracker: TrackerCondition) => Promise<Result[]>,
): Promise<Result[]> {
  if (!(await isCitusCluster(database))) return query(rows, NO_TRACKER_CONDITION)
  const results: Result[] = []
  for (const [trackerId, trackerRows] of Map.groupBy(rows, row => row.trackerId)) {
    results.push(...(await query(trackerRows, createTrackerCondition(trackerId))))
  }
  return results
}

/** The part of a batch that belongs to one tracker. */
export interface TrackerBatch {
  trackerId: string
  /** The most rows to delete. */
  limit: number
}

/**
 * Deletes a batch of at most `rowsMax` rows, tracker by tracker, because on a Citus cluster a
 * statement that locks rows must name one tracker. Returns the number of deleted rows, as
 * `deleteRows` does.
 */
export async function deleteByTracker(
  trackerIds: readonly string[],
  rowsMax: number,
  deleteRows: (batch: TrackerBatch) => Promise<number>,
): Promise<number> {
  let deleted = 0
  for (const trackerId of trackerIds) {
    deleted += await deleteRows({ trackerId, limit: rowsMax - deleted })
    if (deleted === rowsMax) break
  }
  return deleted
}

const BIGINT = 20
const DATE = 1082

/**
 * `numeric` stays text, so that money never becomes a float. `bigint` becomes a number, and one
 * that would lose digits throws. `date` stays text: it is a day, not an instant in a time zone.
 */
function findTypeParser(oid: number, format?: unknown) {
  if (oid === BIGINT) return parseSafeInteger
  if (oid === DATE) return (text: string) => text
  return pg.types.getTypeParser(oid, format as 'text')
}

function parseSafeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError('a bigint is not a safe integer')
  return value
}
