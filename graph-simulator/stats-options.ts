import { checkObject, type FieldErrors, flag, integer, oneOf } from './field-check.ts'

/**
 * How the stats edge counts. Meta does not publish its rules, so a test can set them. Wire names,
 * as at /_simulator/stats.
 */
export interface StatsOptions {
  /** Which time assigns an event to an hour. */
  count_by: 'event_time' | 'arrival'
  /** A server event that a browser also sent does not count. */
  deduplicate: boolean
  /** A second copy of a server event does not count. */
  deduplicate_servers: boolean
  /** Counts are strings, as several projects observed at Meta. */
  counts_as_text: boolean
  /** Rows per page; each row is an hour. */
  page_rows: number
}

/** One page holds the hours of seven days, as observed at Meta. */
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

/** Parses the body of POST /_simulator/stats; missing members get their defaults. */
export function parseStatsOptions(
  body: unknown,
): { options: StatsOptions } | { errors: FieldErrors } {
  const errors: FieldErrors = {}
  checkObject(body, { path: '', members: MEMBERS, required: [] }, errors)
  if (Object.keys(errors).length > 0) return { errors }
  return { options: { ...STATS_OPTIONS_DEFAULT, ...(body as Partial<StatsOptions>) } }
}
