/**
 * Rows of `source` as one JSON text, for a statement that gives them to the next one: on a Citus
 * cluster a write may not read a common table expression (docs/decisions/0024). The error of the
 * platform travels as text: it may have a NUL, which PostgreSQL keeps in JSON but does not read.
 */
export function rowsToJson(columns: readonly string[], source: string): string {
  const given = columns.map(name => (name === LAST_ERROR ? `${name}::text` : name))
  return `(select json_agg(moved) from (select ${given.join(', ')} from ${source}) moved)::text`
}

/** The same rows from that text, as a source that has these columns of the table. */
export function rowsFromJson(
  columns: readonly string[],
  table: 'delivery_queue' | 'deliveries',
  parameter: string,
): string {
  const read = columns.map(name =>
    name === LAST_ERROR ? `(${name} #>> '{}')::json as ${name}` : name,
  )
  return `(select ${read.join(', ')}
      from json_populate_recordset(null::${table}, ${parameter}::json)) moved`
}

const LAST_ERROR = 'last_error'
