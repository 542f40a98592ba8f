import { CompiledQuery } from 'kysely'
import {
  type Database,
  isCitusCluster,
  NO_TRACKER_CONDITION,
  type TrackerCondition,
  type Transaction,
} from './database.ts'
import { isLockTimeout } from './database-errors.ts'

/** A column of a batch: its name, its PostgreSQL type, and the value of a row as text. */
export interface BatchColumn<Row> {
  name: string
  type: string
  text: (row: Row) => string | null
  /** Of a time, which a binary parameter has without its text. */
  time?: (row: Row) => Date | null
}

/** A column of times. Formatting one and parsing it again takes 1 µs. */
export function timeColumn<Row>(name: string, time: (row: Row) => Date | null): BatchColumn<Row> {
  return { name, type: 'timestamptz', text: row => time(row)?.toISOString() ?? null, time }
}

/**
 * `unnest($1::uuid[], $2::text[], ...) as alias(tracker_id, event_id, ...)`: one parameter per
 * column, so that one prepared statement serves any number of rows. `number` names a last column
 * that numbers the rows from 1.
 */
export function unnestColumns<Row>(
  columns: readonly BatchColumn<Row>[],
  { alias, firstParameter, number }: { alias: string; firstParameter: number; number?: string },
): string {
  const arrays = columns.map(({ type }, index) =>
    type === 'json'
      ? `string_to_array($${firstParameter + index}::text, E'\\x1f', '')::json[]`
      : `$${firstParameter + index}::${type}[]`,
  )
  const names = columns.map(({ name }) => name)
  if (number !== undefined) names.push(number)
  const ordinality = number === undefined ? '' : ' with ordinality'
  return `unnest(${arrays.join(', ')})${ordinality} as ${alias}(${names.join(', ')})`
}

/** The parameters for `unnestColumns`: one array literal per column. */
export function toArrayParameters<Row>(
  columns: readonly BatchColumn<Row>[],
  rows: readonly Row[],
): string[] {
  return columns.map(({ type, text }) => {
    if (type === 'json') return joinJson(rows.map(text))
    if (type === 'bytea') return byteaLiteral(rows.map(text))
    return UNQUOTED_TYPES.has(type) ? unquotedLiteral(rows, text) : arrayLiteral(rows.map(text))
  })
}

/** The write of a batch to one table, from a source with these columns. */
export interface BatchWrite<Row> {
  columns: BatchColumn<Row>[]
  /** The statement. The source is the name of a CTE, or an `unnestColumns`. */
  from: (source: string) => string
}

/** A write as a separate statement, with its parameters. */
export function buildBatchWrite<Row>(
  { columns, from }: BatchWrite<Row>,
  rows: readonly Row[],
): { text: string; values: string[] } {
  const text = from(unnestColumns(columns, { alias: 'given', firstParameter: 1 }))
  return { text, values: toArrayParameters(columns, rows) }
}

/** Types whose values never need quotes in an array literal. */
const UNQUOTED_TYPES = new Set([
  'uuid',
  'smallint',
  'integer',
  'bigint',
  'boolean',
  'timestamptz',
  'date',
])

/** Hexadecimal with one backslash, which an array literal doubles. */
function byteaLiteral(values: readonly (string | null)[]): string {
  return `{${values.map(value => (value === null ? 'NULL' : `\\${value}`)).join(',')}}`
}

function unquotedLiteral<Row>(rows: readonly Row[], text: (row: Row) => string | null): string {
  return `{${rows.map(row => text(row) ?? 'NULL').join(',')}}`
}

/**
 * JSON texts separated by U+001F, which JSON escapes, so that no quote needs a backslash. An empty
 * text is NULL.
 */
function joinJson(values: readonly (string | null)[]): string {
  return values.map(value => value ?? '').join('\x1f')
}

/**
 * PostgreSQL's array input syntax. The driver escapes each value with two regular expressions,
 * which took a fifth of the CPU of a commit (`npm run bench -- acceptance`).
 */
export function arrayLiteral(values: readonly (string | null)[]): string {
  return `{${values.map(value => (value === null ? 'NULL' : quoteElement(value))).join(',')}}`
}

const QUOTE_OR_BACKSLASH = /["\\]/

function quoteElement(value: string): string {
  if (!QUOTE_OR_BACKSLASH.test(value)) return `"${value}"`
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/**
 * A parameter with the distinct trackers of rows. `tracker_id = any(...)` beside a join with the
 * rows keeps a statement on the nodes of these trackers: Citus prunes no shards by a join.
 */
export function trackerIdArray(rows: readonly { trackerId: string }[]): string {
  return unquotedLiteral([...new Set(rows.map(({ trackerId }) => trackerId))], id => id)
}

/** Rows over which concurrent writers of one counter are spread. */
const COUNTER_SHARDS = 8

/** The shard for the connection that runs the statement, as SQL. */
export const COUNTER_SHARD = `pg_backend_pid() % ${COUNTER_SHARDS}`

/** The UTC day of a timestamp, as SQL. */
export function utcDay(column: string): string {
  return `(${column} at time zone 'UTC')::date`
}

/**
 * A condition that changes nothing in a statement that joins the trackers of a workspace. Without
 * it a Citus cluster asks every node, and fails when any of them is down. One PostgreSQL needs no
 * condition and no query for it.
 */
export async function createWorkspaceCondition(
  database: Database,
  workspaceId: number,
): Promise<TrackerCondition> {
  if (!(await isCitusCluster(database))) return NO_TRACKER_CONDITION
  const { rows } = await database.pool.query({
    name: 'list-trackers-of-workspace',
    text: 'select id from trackers where workspace_id = $1::integer',
    values: [workspaceId],
  })
  return {
    values: [arrayLiteral(rows.map(({ id }) => id))],
    condition: (column, parameter) => `and ${column} = any($${parameter}::uuid[])`,
  }
}

/** Settings that decide how a statement runs, and so must hold on the node that has its rows. */
interface LocalSettings {
  lock_timeout?: number
  statement_timeout?: number
  synchronous_commit?: 'off'
  enable_bitmapscan?: 'off'
  enable_sort?: 'off'
}

/** Sets these for the rest of a transaction. Times are in milliseconds. */
export async function setLocally({ query }: Transaction, settings: LocalSettings): Promise<void> {
  await query.executeQuery(CompiledQuery.raw(localSettings(settings)))
}

/**
 * The same as SQL text, for a transaction that is one round trip. On a Citus cluster a setting
 * holds on the coordinator alone, while rows are locked and read on the other nodes: without the
 * first line, waiting for a lock there has no timeout. One PostgreSQL accepts and ignores it.
 */
export function localSettings(settings: LocalSettings): string {
  const lines = Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`)
  return ["set local citus.propagate_set_commands = 'local'", ...lines].join('; ')
}

const LOCK_MILLISECONDS_MAX = 500

/**
 * Runs `work` in a transaction that waits for each lock for at most half a second, because every
 * statement behind it in the queue waits as well. Returns null, with nothing changed, when a lock
 * was held longer. `settings` hold in the transaction too.
 */
export async function withLockTimeout<Result>(
  { query }: Pick<Database, 'query'>,
  work: (transaction: Database['query']) => Promise<Result>,
  settings: LocalSettings = {},
): Promise<Result | null> {
  try {
    return await query.transaction().execute(async transaction => {
      await setLocally({ query: transaction }, { lock_timeout: LOCK_MILLISECONDS_MAX, ...settings })
      return await work(transaction)
    })
  } catch (error) {
    if (isLockTimeout(error)) return null
    throw error
  }
}
