import { Readable } from 'node:stream'
import type {
  EventExport,
  EventSearch,
  EventSearchPage,
  EventSummary,
} from '@signalbox/contract/session/events.ts'
import { type CsvCell, formatCsv } from '../runtime/util/csv.ts'
import { formatUtcDay } from '../runtime/util/time.ts'

/** Rows of one file. */
const EXPORTED_EVENTS_MAX = 10_000
/** Pages that are searched for them, each of at most ten thousand rows of the store. */
const PAGES_MAX = 400

type SearchPage = (search: EventSearch) => Promise<EventSearchPage>

interface ExportRequest {
  query: EventExport
  now: Date
}

interface ExportFile {
  headers: Record<string, string>
  body: Readable
}

/**
 * The events that a search finds, as a file that is read while it is sent: one page in memory.
 * Throws a 422 refusal before the first byte.
 */
export async function exportEvents(
  searchPage: SearchPage,
  { query: { format = 'csv', ...search }, now }: ExportRequest,
): Promise<ExportFile> {
  const first = await searchPage(search)
  const write = format === 'csv' ? toCsv : toLines
  return {
    headers: {
      'content-type': TYPES[format],
      'content-disposition': `attachment; filename="events-${formatUtcDay(now)}.${format}"`,
    },
    body: Readable.from(write(readPages(searchPage, { search, first })), { highWaterMark: 1 }),
  }
}

const TYPES = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
}

interface Pages {
  search: EventSearch
  first: EventSearchPage
}

/** The pages of a search, until the file is full. */
async function* readPages(
  searchPage: SearchPage,
  { search, first }: Pages,
): AsyncGenerator<EventSummary[]> {
  let page = first
  let left = EXPORTED_EVENTS_MAX
  for (let count = 1; ; count += 1) {
    const events = page.events.slice(0, left)
    if (events.length > 0) yield events
    left -= events.length
    const cursor = page.next_cursor
    if (cursor === null || left === 0 || count === PAGES_MAX) return
    page = await searchPage({ ...search, cursor })
  }
}

const COLUMNS = [
  ...['id', 'space', 'event_name', 'event_time', 'received_at', 'action_source', 'order_id'],
  ...['parent_event_id', 'value_amount', 'value_currency', 'destination_id', 'status', 'is_test'],
]

/** A row for each delivery; an event without one has a row too. */
async function* toCsv(pages: AsyncIterable<EventSummary[]>): AsyncGenerator<string> {
  yield formatCsv([COLUMNS])
  for await (const events of pages) yield formatCsv(events.flatMap(toRows))
}

function toRows(event: EventSummary): CsvCell[][] {
  const own: CsvCell[] = [
    ...[event.id, event.space, event.event_name, event.event_time, event.created_at],
    ...[event.action_source, event.order_id, event.parent_event_id],
    ...[event.value_amount, event.value_currency],
  ]
  if (event.deliveries.length === 0) return [[...own, null, 'no_delivery', null]]
  return event.deliveries.map(({ destination_id, status, is_test }) => [
    ...own,
    ...[destination_id, status, is_test ? 'yes' : 'no'],
  ])
}

async function* toLines(pages: AsyncIterable<EventSummary[]>): AsyncGenerator<string> {
  for await (const events of pages) {
    yield events.map(event => `${JSON.stringify(event)}\n`).join('')
  }
}
