import type { EventSource } from './event-counts.ts'
import { badParameter, type GraphRefusal, tooMuchAsked } from './graph-refusal.ts'

/** What was asked of the stats edge. */
export interface StatsQuery {
  aggregation: 'event' | 'event_total_counts'
  from: Date
  until: Date
  /** Undefined: both together. */
  source: EventSource | undefined
  /** The hour of the last row on the page before; null on the first page. */
  afterHour: number | null
}

/** How far back Meta keeps the counts, and the longest span that it shows at once. */
export const REACH_MILLISECONDS = 7 * 24 * 3_600_000

const SOURCES = new Map<string, EventSource>([
  ['SERVER_ONLY', 'server'],
  ['WEB_ONLY', 'browser'],
])
const UNIX_SECONDS = /^\d{1,11}$/
const ISO_8601 = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:?\d\d)?)?$/

/** Reads the query of GET /{dataset}/stats (Meta "Ads Pixel Stats"). */
export function readStatsQuery(query: URLSearchParams, now: Date): StatsQuery | GraphRefusal {
  const aggregation = query.get('aggregation')
  if (aggregation !== 'event' && aggregation !== 'event_total_counts')
    return badParameter('(#100) Only the aggregations event and event_total_counts are simulated.')

  const sourceWord = query.get('event_source')
  const source = sourceWord === null ? undefined : SOURCES.get(sourceWord)
  if (sourceWord !== null && !source)
    return badParameter('(#100) The parameter event_source must be SERVER_ONLY or WEB_ONLY.')

  const until = readTime(query.get('end_time')) ?? now
  const from = readTime(query.get('start_time')) ?? new Date(until.getTime() - REACH_MILLISECONDS)
  if (!(from.getTime() < until.getTime()))
    return badParameter('(#100) start_time and end_time must be times, the end after the start.')
  if (until.getTime() - from.getTime() > REACH_MILLISECONDS) return tooMuchAsked()

  const afterHour = readCursor(query.get('after'))
  if (afterHour === 'none') return badParameter('(#100) The cursor is not valid.')
  return { aggregation, from, until, source, afterHour }
}

/** The cursor of the page that comes after a row. */
export function cursorAfter(hour: number): string {
  return Buffer.from(`hour:${hour}`).toString('base64url')
}

function readCursor(text: string | null): number | null | 'none' {
  if (text === null) return null
  const [, hour] = /^hour:(\d{1,9})$/.exec(Buffer.from(text, 'base64url').toString('utf8')) ?? []
  return hour === undefined ? 'none' : Number(hour)
}

/** Undefined without a time; for a wrong one an invalid date, which is before and after nothing. */
function readTime(text: string | null): Date | undefined {
  if (text === null) return undefined
  if (UNIX_SECONDS.test(text)) return new Date(Number(text) * 1_000)
  // Without an offset it is UTC; the form of Meta's own answers has no colon in it.
  const offset = /[+-]\d\d:?\d\d$|Z$/.test(text) || !text.includes('T') ? '' : 'Z'
  return new Date(ISO_8601.test(text) ? `${text}${offset}` : Number.NaN)
}
