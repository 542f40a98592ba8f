import type { EventSource, HourCounts } from './event-counts.ts'
import { type GraphError, invalidQueryParameter, rangeTooLong } from './graph-errors.ts'
import type { ReportRequest } from './report-requests.ts'
import type { SimulatorState } from './simulator-state.ts'

const HOUR_MILLISECONDS = 3_600_000
/** Meta lists so many event names an hour, the most frequent ones ("Ads Pixel Stats"). */
const NAMES_MAX = 100

/** GET /{version}/{dataset}/stats: how many events the platform counted, by hour and name. */
export function readDatasetStats(
  state: SimulatorState,
  request: ReportRequest,
): { body: object } | { refusal: GraphError } {
  const query = parseStatsQuery(request.query, state.now())
  if ('code' in query) return { refusal: query }
  const hours = countedHours(state, request.dataset, query)
  const body = query.aggregation === 'event' ? hourPage : totalPage
  return { body: body(state, { hours, query, request }) }
}

interface StatsResult {
  hours: HourCounts[]
  query: StatsQuery
  request: ReportRequest
}

/** Hours that overlap the span; what began more than 7 days ago is not there any more. */
function countedHours(state: SimulatorState, dataset: string, query: StatsQuery): HourCounts[] {
  const { from, until, source } = query
  const reach = Math.ceil((state.now().getTime() - STATS_RANGE_MILLISECONDS) / HOUR_MILLISECONDS)
  const span = {
    dataset,
    from: Math.max(reach, Math.floor(from.getTime() / HOUR_MILLISECONDS)),
    until: Math.ceil(until.getTime() / HOUR_MILLISECONDS),
    source,
  }
  return state.counts.hours(span, state.stats)
}

function hourPage({ stats }: SimulatorState, { hours, query, request }: StatsResult): object {
  const { afterHour } = query
  const left = hours.filter(([hour]) => afterHour === null || hour > afterHour)
  const page = left.slice(0, stats.page_rows)
  const rows = page.map(([hour, counts]) => ({
    start_time: formatGraphTime(new Date(hour * HOUR_MILLISECONDS)),
    aggregation: 'event',
    data: rowsOf(counts, stats.counts_as_text).slice(0, NAMES_MAX),
  }))
  const [lastHour] = page.at(-1) ?? []
  if (lastHour === undefined || left.length === page.length) return { data: rows, paging: {} }
  const after = cursorAfter(lastHour)
  return { data: rows, paging: { cursors: { after }, next: nextPageUrl(request, after) } }
}

/** The whole span in one row. */
function totalPage({ stats }: SimulatorState, { hours, query }: StatsResult): object {
  const totals = new Map<string, number>()
  for (const [, counts] of hours)
    for (const [name, count] of counts) totals.set(name, (totals.get(name) ?? 0) + count)
  const row = {
    start_time: formatGraphTime(query.from),
    aggregation: 'event_total_counts',
    data: rowsOf(totals, stats.counts_as_text),
  }
  return { data: totals.size > 0 ? [row] : [], paging: {} }
}

/** The most frequent first. */
function rowsOf(counts: Map<string, number>, asText: boolean): object[] {
  return [...counts]
    .sort(([leftName, left], [rightName, right]) => right - left || (leftName < rightName ? -1 : 1))
    .map(([value, count]) => ({ value, count: asText ? String(count) : count }))
}

/** The same question with a cursor; like Meta's, it carries the token when the question did. */
function nextPageUrl({ url: address, query }: ReportRequest, after: string): string {
  const next = new URLSearchParams(query)
  next.set('after', after)
  return `${address}?${next}`
}

/** Meta's way to write a time: `2026-10-01T01:00:00+0000`. */
function formatGraphTime(at: Date): string {
  return `${at.toISOString().slice(0, 19)}+0000`
}

/** What was asked of the stats edge. */
interface StatsQuery {
  aggregation: 'event' | 'event_total_counts'
  from: Date
  until: Date
  /** Undefined: both together. */
  source: EventSource | undefined
  /** The hour of the last row on the page before; null on the first page. */
  afterHour: number | null
}

/** How far back Meta keeps the counts, and the longest span that it shows at once. */
const STATS_RANGE_MILLISECONDS = 7 * 24 * 3_600_000

const SOURCES = new Map<string, EventSource>([
  ['SERVER_ONLY', 'server'],
  ['WEB_ONLY', 'browser'],
])
const UNIX_SECONDS = /^\d{1,11}$/
const ISO_8601 = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:?\d\d)?)?$/

/** Reads the query of GET /{dataset}/stats (Meta "Ads Pixel Stats"). */
function parseStatsQuery(query: URLSearchParams, now: Date): StatsQuery | GraphError {
  const aggregation = query.get('aggregation')
  if (aggregation !== 'event' && aggregation !== 'event_total_counts')
    return invalidQueryParameter(
      '(#100) Only the aggregations event and event_total_counts are simulated.',
    )

  const sourceWord = query.get('event_source')
  const source = sourceWord === null ? undefined : SOURCES.get(sourceWord)
  if (sourceWord !== null && !source)
    return invalidQueryParameter(
      '(#100) The parameter event_source must be SERVER_ONLY or WEB_ONLY.',
    )

  const until = readTime(query.get('end_time')) ?? now
  const from =
    readTime(query.get('start_time')) ?? new Date(until.getTime() - STATS_RANGE_MILLISECONDS)
  if (!(from.getTime() < until.getTime()))
    return invalidQueryParameter(
      '(#100) start_time and end_time must be times, the end after the start.',
    )
  if (until.getTime() - from.getTime() > STATS_RANGE_MILLISECONDS) return rangeTooLong()

  const afterHour = readCursor(query.get('after'))
  if (afterHour === 'none') return invalidQueryParameter('(#100) The cursor is not valid.')
  return { aggregation, from, until, source, afterHour }
}

/** The cursor of the page that comes after a row. */
function cursorAfter(hour: number): string {
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
