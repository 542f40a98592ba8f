import { checkObject, type FieldErrors, flag, integer, oneOf } from './field-check.ts'

/**
 * How the stats edge counts. Meta does not publish it, so a test can have it either way; wire
 * names, as at /_simulator/stats.
 */
export interface StatsOptions {
  /** Into which hour an event falls. */
  count_by: 'event_time' | 'arrival'
  /** A server's copy of an event that a browser gave too does not count. */
  deduplicate: boolean
  /** A server's second copy of a server's event does not count. */
  deduplicate_servers: boolean
  /** Counts are written as strings, as some have seen Meta do. */
  counts_as_text: boolean
  /** Rows, that is hours, on one page. */
  page_rows: number
}

/** Seven days of hours stand on one page, as they were seen to. */
export const STATS_OPTIONS_DEFAULT: StatsOptions = {
  count_by: 'event_time',
  deduplicate: true,
  deduplicate_servers: true,
  counts_as_text: false,
  page_rows: 200,
}

const PAGE_ROWS_MAX = 1_000

const MEMBERS = {
  count_by: oneOf('event_time', 'arrival'),
  deduplicate: flag,
  deduplicate_servers: flag,
  counts_as_text: flag,
  page_rows: integer(1, PAGE_ROWS_MAX),
}

/** Reads the body of POST /_simulator/stats; what it leaves out goes back to the default. */
export function parseStatsOptions(
  body: unknown,
): { options: StatsOptions } | { errors: FieldErrors } {
  const errors: FieldErrors = {}
  checkObject(body, { path: '', members: MEMBERS, required: [] }, errors)
  if (Object.keys(errors).length > 0) return { errors }
  return { options: { ...STATS_OPTIONS_DEFAULT, ...(body as Partial<StatsOptions>) } }
}
