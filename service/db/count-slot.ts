/** Rows over which the writers of one count are spread. */
const SLOTS = 8

/** The slot of the connection that runs the statement, as SQL. */
export const COUNT_SLOT = `pg_backend_pid() % ${SLOTS}`

/** The UTC day of a time, as SQL. */
export function utcDay(column: string): string {
  return `(${column} at time zone 'UTC')::date`
}
