import type { HourCounts } from './event-counts.ts'
import type { ReadingRequest } from './graph-reading.ts'
import type { GraphRefusal } from './graph-refusal.ts'
import type { SimulatorState } from './simulator-state.ts'
import { cursorAfter, REACH_MILLISECONDS, readStatsQuery, type StatsQuery } from './stats-query.ts'

const HOUR_MILLISECONDS = 3_600_000
/** Meta lists so many event names an hour, the most frequent ones ("Ads Pixel Stats"). */
const NAMES_MAX = 100

/** GET /{version}/{dataset}/stats: how many events the platform counted, by hour and name. */
export function readStats(
  state: SimulatorState,
  request: ReadingRequest,
): { body: object } | { refusal: GraphRefusal } {
  const query = readStatsQuery(request.query, state.now())
  if ('code' in query) return { refusal: query }
  const hours = countedHours(state, request.dataset, query)
  const body = query.aggregation === 'event' ? hourPage : totalPage
  return { body: body(state, { hours, query, request }) }
}

interface Counted {
  hours: HourCounts[]
  query: StatsQuery
  request: ReadingRequest
}

/** Hours that overlap the span; what began more than 7 days ago is not there any more. */
function countedHours(state: SimulatorState, dataset: string, query: StatsQuery): HourCounts[] {
  const { from, until, source } = query
  const reach = Math.ceil((state.now().getTime() - REACH_MILLISECONDS) / HOUR_MILLISECONDS)
  const span = {
    dataset,
    from: Math.max(reach, Math.floor(from.getTime() / HOUR_MILLISECONDS)),
    until: Math.ceil(until.getTime() / HOUR_MILLISECONDS),
    source,
  }
  return state.counts.hours(span, state.stats)
}

function hourPage({ stats }: SimulatorState, { hours, query, request }: Counted): object {
  const { afterHour } = query
  const left = hours.filter(([hour]) => afterHour === null || hour > afterHour)
  const page = left.slice(0, stats.page_rows)
  const rows = page.map(([hour, counts]) => ({
    start_time: graphTime(new Date(hour * HOUR_MILLISECONDS)),
    aggregation: 'event',
    data: rowsOf(counts, stats.counts_as_text).slice(0, NAMES_MAX),
  }))
  const [lastHour] = page.at(-1) ?? []
  if (lastHour === undefined || left.length === page.length) return { data: rows, paging: {} }
  const after = cursorAfter(lastHour)
  return { data: rows, paging: { cursors: { after }, next: nextAddress(request, after) } }
}

/** The whole span in one row. */
function totalPage({ stats }: SimulatorState, { hours, query }: Counted): object {
  const totals = new Map<string, number>()
  for (const [, counts] of hours)
    for (const [name, count] of counts) totals.set(name, (totals.get(name) ?? 0) + count)
  const row = {
    start_time: graphTime(query.from),
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
function nextAddress({ address, query }: ReadingRequest, after: string): string {
  const next = new URLSearchParams(query)
  next.set('after', after)
  return `${address}?${next}`
}

/** Meta's way to write a time: `2026-10-01T01:00:00+0000`. */
function graphTime(at: Date): string {
  return `${at.toISOString().slice(0, 19)}+0000`
}
