import type { EventSource, HourCounts } from './event-counts.ts'
import { type GraphError, invalidQueryParameter, rangeTooLong } from './graph-errors.ts'
import type { ReportRequest, ReportResult } from './report-requests.ts'
import type { SimulatorState } from './simulator-state.ts'

const HOUR_MILLISECONDS = 3_600_000
/** Meta lists the 100 most frequent event names of an hour ("Ads Pixel Stats"). */
const NAMES_MAX = 100

/** GET /{version}/{dataset}/stats: event counts by hour and name. */
export function readDatasetStats(state: SimulatorState, request: ReportRequest): ReportResult {
  const query = parseStatsQuery(request.query, state.now())
  if ('code' in query) return { error: query }
  const hours = readHours(state, request.dataset, query)
  const formatPage = query.aggregation === 'event' ? hourPage : totalPage
  return { body: formatPage(state, { hours, query, request }) }
}

interface StatsResult {
  hours: HourCounts[]
  query: StatsQuery
  request: ReportRequest
}

/** Hours that overlap the range, except hours that began more than 7 days ago. */
function readHours(state: SimulatorState, dataset: string, query: StatsQuery): HourCounts[] {
  const { from, until, source } = query
  const oldestHour = Math.ceil(
    (state.now().getTime() - STATS_RANGE_MILLISECONDS) / HOUR_MILLISECONDS,
  )
  const range = {
    dataset,
    from: Math.max(oldestHour, Math.floor(from.getTime() / HOUR_MILLISECONDS)),
    until: Math.ceil(until.getTime() / HOUR_MILLISECONDS),
    source,
  }
  return state.counts.hours(range, state.stats)
}

function hourPage({ stats }: SimulatorState, { hours, query, request }: StatsResult): object {
  const { afterHour } = query
  const remaining = hours.filter(([hour]) => afterHour === null || hour > afterHour)
  const page = remaining.slice(0, stats.page_rows)
  const rows = page.map(([hour, counts]) => ({
    start_time: formatGraphTime(new Date(hour * HOUR_MILLISECONDS)),
    aggregation: 'event',
    data: listCounts(counts, stats.counts_as_text).slice(0, NAMES_MAX),
  }))
  const [lastHour] = page.at(-1) ?? []
  if (lastHour === undefined || remaining.length === page.length) return { data: rows, paging: {} }
  const after = encodeCursor(lastHour)
  return { data: rows, paging: { cursors: { after }, next: nextPageUrl(request, after) } }
}

/** The whole range in one row. */
function totalPage({ stats }: SimulatorState, { hours, query }: StatsResult): object {
  const totals = new Map<string, number>()
  for (const [, counts] of hours)
    for (const [name, count] of counts) totals.set(name, (totals.get(name) ?? 0) + count)
  const row = {
    start_time: formatGraphTime(query.from),
    aggregation: 'event_total_counts',
    data: listCounts(totals, stats.counts_as_text),
  }
  return { data: totals.size > 0 ? [row] : [], paging: {} }
}

/** Most frequent name first. */
function listCounts(counts: Map<string, number>, asText: boolean): object[] {
  return [...counts]
    .sort(([leftName, left], [rightName, right]) => right - left || (leftName < rightName ? -1 : 1))
    .map(([value, count]) => ({ value, count: asText ? String(count) : count }))
}

/** The same query with a cursor; like Meta's, it contains the token if the request did. */
function nextPageUrl({ url, query }: ReportRequest, after: string): string {
  const next = new URLSearchParams(query)
  next.set('after', after)
  return `${url}?${next}`
}

/** Meta's time format: `2026-10-01T01:00:00+0000`. */
function formatGraphTime(at: Date): string {
  return `${at.toISOString().slice(0, 19)}+0000`
}

interface StatsQuery {
  aggregation: 'event' | 'event_total_counts'
  from: Date
  until: Date
  /** Undefined: both sources. */
  source: EventSource | undefined
  /** The hour of the last row of the previous page; null for the first page. */
  afterHour: number | null
}

/** How far back Meta keeps the counts, and the longest range of one query. */
const STATS_RANGE_MILLISECONDS = 7 * 24 * 3_600_000

const SOURCES = new Map<string, EventSource>([
  ['SERVER_ONLY', 'server'],
  ['WEB_ONLY', 'browser'],
])
const UNIX_SECONDS = /^\d{1,11}$/
const ISO_8601 = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:?\d\d)?)?$/

/** Parses the query of GET /{dataset}/stats (Meta "Ads Pixel Stats"). */
function parseStatsQuery(query: URLSearchParams, now: Date): StatsQuery | GraphError {
  const aggregation = query.get('aggregation')
  if (aggregation !== 'event' && aggregation !== 'event_total_counts')
    return invalidQueryParameter(
      '(#100) Only the aggregations event and event_total_counts are simulated.',
    )

  const eventSource = query.get('event_source')
  const source = eventSource === null ? undefined : SOURCES.get(eventSource)
  if (eventSource !== null && !source)
    return invalidQueryParameter(
      '(#100) The parameter event_source must be SERVER_ONLY or WEB_ONLY.',
    )

  const until = parseTime(query.get('end_time')) ?? now
  const from =
    parseTime(query.get('start_time')) ?? new Date(until.getTime() - STATS_RANGE_MILLISECONDS)
  if (!(from.getTime() < until.getTime()))
    return invalidQueryParameter(
      '(#100) start_time and end_time must be valid times with start_time before end_time.',
    )
  if (until.getTime() - from.getTime() > STATS_RANGE_MILLISECONDS) return rangeTooLong()

  const afterHour = decodeCursor(query.get('after'))
  if (afterHour === 'invalid') return invalidQueryParameter('(#100) The cursor is not valid.')
  return { aggregation, from, until, source, afterHour }
}

/** The cursor of the page after this hour. */
function encodeCursor(hour: number): string {
  return Buffer.from(`hour:${hour}`).toString('base64url')
}

function decodeCursor(text: string | null): number | null | 'invalid' {
  if (text === null) return null
  const [, hour] = /^hour:(\d{1,9})$/.exec(Buffer.from(text, 'base64url').toString('utf8')) ?? []
  return hour === undefined ? 'invalid' : Number(hour)
}

/** Undefined without a time; an invalid Date, which fails every comparison, for a bad one. */
function parseTime(text: string | null): Date | undefined {
  if (text === null) return undefined
  if (UNIX_SECONDS.test(text)) return new Date(Number(text) * 1_000)
  // A time without an offset is UTC. Meta's own times have an offset without a colon.
  const offset = /[+-]\d\d:?\d\d$|Z$/.test(text) || !text.includes('T') ? '' : 'Z'
  return new Date(ISO_8601.test(text) ? `${text}${offset}` : Number.NaN)
}
