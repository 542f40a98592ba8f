import type { DeliveryOutcome } from '@signalbox/contract/reasons.ts'

/** Columns that a delivery keeps for good, in the queue and in the history. */
export const FIXED_COLUMNS = [
  'tracker_id',
  'created_at',
  'id',
  'event_id',
  'space',
  'destination_id',
  'is_test',
]

/** Columns that a replay sets. */
export const REPLAY_COLUMNS = ['replayed_at', 'attempts_before_replay']

/** Columns that attempts set, beside the status and the last error. */
export const ATTEMPT_COLUMNS = [
  'attempt_count',
  'first_sent_at',
  'platform_trace_id',
  'attempt_ids',
]

/** The end of an insert into `delivery_counts`: adds to the counts of a day, or starts them. */
export const ADD_COUNTS = `
  on conflict (tracker_id, planned_on, slot) do update set
    planned = delivery_counts.planned + excluded.planned,
    accepted = delivery_counts.accepted + excluded.accepted`

/**
 * The rows of `source` as one JSON text, for a statement that passes them to the next one: on a
 * Citus cluster a write cannot read a common table expression (docs/decisions/0024). The platform's
 * error travels as text: it may contain a NUL, which PostgreSQL stores in JSON but does not parse.
 */
export function rowsToJson(columns: readonly string[], source: string): string {
  const written = columns.map(name => (name === LAST_ERROR ? `${name}::text` : name))
  return `(select json_agg(moved) from (select ${written.join(', ')} from ${source}) moved)::text`
}

/** The same rows, read from that text as a source that has these columns of the table. */
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

/** A status with its reason, as SQL literals. */
export function outcomeLiterals({ status, reason }: DeliveryOutcome) {
  return { status: `'${status}'`, reason: `'${reason}'` }
}
