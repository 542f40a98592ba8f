/** A column of a batch: its name, its PostgreSQL type, and the value of a row as text. */
export interface BatchColumn<Row> {
  name: string
  type: string
  text: (row: Row) => string | null
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
