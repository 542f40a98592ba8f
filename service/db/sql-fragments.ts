/** A column of a batch: its name, its PostgreSQL type, and how a row's value is written as text. */
export interface BatchColumn<Row> {
  name: string
  type: string
  text: (row: Row) => string | null
}

/**
 * `unnest($1::uuid[], $2::text[], ...) as alias(tracker_id, event_id, ...)`: one parameter a
 * column, so that the statement stays the same, and stays prepared, for any number of rows. With
 * `number`, a last column of this name counts the rows from 1 on.
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

/** The parameters for `unnestColumns`: one array literal a column. */
export function toArrayParameters<Row>(
  columns: readonly BatchColumn<Row>[],
  rows: readonly Row[],
): string[] {
  return columns.map(({ type, text }) => {
    if (type === 'json') return jsonList(rows.map(text))
    if (type === 'bytea') return byteaLiteral(rows.map(text))
    return PLAIN_TYPES.has(type) ? plainLiteral(rows, text) : arrayLiteral(rows.map(text))
  })
}

/** One table's part of writing a batch: its rows come from a source that has these columns. */
export interface BatchWrite<Row> {
  columns: BatchColumn<Row>[]
  /** The statement; the source is the name of a common table expression, or an `unnestColumns`. */
  from: (source: string) => string
}

/** A write as a statement of its own, with its parameters. */
export function buildBatchWrite<Row>(
  { columns, from }: BatchWrite<Row>,
  rows: readonly Row[],
): { text: string; values: string[] } {
  const text = from(unnestColumns(columns, { alias: 'given', firstParameter: 1 }))
  return { text, values: toArrayParameters(columns, rows) }
}

/** What we write of these types has no character that an array literal would take for its own. */
const PLAIN_TYPES = new Set([
  'uuid',
  'smallint',
  'integer',
  'bigint',
  'boolean',
  'timestamptz',
  'date',
])

/** Hexadecimal, whose one backslash is written twice in an array. */
function byteaLiteral(values: readonly (string | null)[]): string {
  return `{${values.map(value => (value === null ? 'NULL' : `\\${value}`)).join(',')}}`
}

function plainLiteral<Row>(rows: readonly Row[], text: (row: Row) => string | null): string {
  return `{${rows.map(row => text(row) ?? 'NULL').join(',')}}`
}

/**
 * JSON texts in a row. JSON escapes control characters, so U+001F can stand between them and no
 * quote needs a backslash; an empty text is NULL.
 */
function jsonList(values: readonly (string | null)[]): string {
  return values.map(value => value ?? '').join('\x1f')
}

/**
 * PostgreSQL's array input syntax. Written here because the driver escapes each value with two
 * regular expressions, which took a fifth of the CPU of a commit (`npm run bench -- acceptance`).
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
 * A parameter with the trackers of rows, each once. `tracker_id = any(...)` beside a join with the
 * rows keeps a statement on the nodes that own these trackers: Citus prunes no shard by a join.
 */
export function trackerIdArray(rows: readonly { trackerId: string }[]): string {
  return plainLiteral([...new Set(rows.map(({ trackerId }) => trackerId))], id => id)
}

/** Rows over which the writers of one count are spread. */
const COUNTER_SHARDS = 8

/** The slot of the connection that runs the statement, as SQL. */
export const COUNTER_SHARD = `pg_backend_pid() % ${COUNTER_SHARDS}`

/** The UTC day of a time, as SQL. */
export function utcDay(column: string): string {
  return `(${column} at time zone 'UTC')::date`
}
