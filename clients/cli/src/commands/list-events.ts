import type { Event, EventList } from '@signalbox/sdk'
import { createUsageError } from '../cli-error.ts'
import type { CommandContext, Handler } from '../command-context.ts'
import { formatCsv } from '../output/csv.ts'
import { colorOfStatus } from '../output/style.ts'
import { type Cell, Table } from '../output/table.ts'
import { countOf, formatTime } from '../output/times.ts'
import { formatAmount, worstStatus } from './event-text.ts'

interface ListOptions {
  page?: number
  perPage?: number
  all?: boolean
  csv?: boolean
}

/** What the service allows. */
export const PAGE_EVENTS_MAX = 100

/** `events list`: a page, or with --all every event, as a table, JSON, NDJSON or CSV. */
export const listEvents: Handler<ListOptions> = async (context, options) => {
  const { all = false, csv = false, page, perPage } = options
  if (csv && context.isJson) throw createUsageError('Use either --csv or --json.')
  if (all && page !== undefined) throw createUsageError('Use either --all or --page.')
  const client = await context.client()
  const { signal } = context.host
  if (!all) {
    const list = await client.events.list({ page, per_page: perPage }, { signal })
    if (context.isJson) await context.printJson(list)
    else if (csv) await context.print(formatCsv([CSV_COLUMNS, ...list.events.data.map(toCsvRow)]))
    else await printPage(context, list)
    return undefined
  }
  const events = client.events.list({ per_page: perPage ?? PAGE_EVENTS_MAX }, { signal })
  const print = createPrinter(context, csv)
  let count = 0
  for await (const batch of inBatches(events)) {
    await print(batch)
    count += batch.length
  }
  if (!(context.isJson || csv)) await context.note(`${countOf(count, 'event')}.\n`)
  return undefined
}

async function printPage(context: CommandContext, { events, metrics }: EventList): Promise<void> {
  const { style } = context
  if (events.data.length === 0) {
    await context.note('There is no event on this page.\n')
    return
  }
  await context.print(createTable(context).format(events.data.map(toTableRow)))
  const { from, to, total, current_page: page, last_page: last } = events
  const range = `${from}-${to} of ${countOf(total, 'event')}, page ${page} of ${last}`
  const rate = metrics?.acceptance_rate
  const accepted =
    typeof rate === 'number' ? `; accepted in 7 days: ${(rate * 100).toFixed(1)} %` : ''
  await context.note(`${style('dim', `${range}${accepted}`)}\n`)
}

function createPrinter(
  context: CommandContext,
  isCsv: boolean,
): (events: readonly Event[]) => Promise<void> {
  if (context.isJson) {
    return events => context.print(events.map(event => `${JSON.stringify(event)}\n`).join(''))
  }
  if (isCsv) {
    let header: (readonly string[])[] = [CSV_COLUMNS]
    return async events => {
      await context.print(formatCsv([...header, ...events.map(toCsvRow)]))
      header = []
    }
  }
  const table = createTable(context)
  return events => context.print(table.format(events.map(toTableRow)))
}

/** At least one batch, so that an empty list still has its header. */
async function* inBatches(events: AsyncIterable<Event>): AsyncGenerator<Event[]> {
  let batch: Event[] = []
  let isFirst = true
  for await (const event of events) {
    batch.push(event)
    if (batch.length < PAGE_EVENTS_MAX) continue
    yield batch
    isFirst = false
    batch = []
  }
  if (batch.length > 0 || isFirst) yield batch
}

function createTable({ style, host }: CommandContext): Table {
  return new Table(
    [
      { title: 'Happened (UTC)' },
      { title: 'Event', isFlexible: true },
      { title: 'ID', isFlexible: true },
      { title: 'Value', align: 'right' },
      { title: 'Delivery' },
    ],
    { style, width: host.stdout.width() },
  )
}

function toTableRow(event: Event): Cell[] {
  const statuses = (event.deliveries ?? []).map(({ status }) => status)
  return [
    formatTime(event.event_time),
    event.event_name,
    event.id,
    formatAmount(event),
    { text: [...new Set(statuses)].join(', '), color: colorOfStatus(worstStatus(event) ?? '') },
  ]
}

const CSV_MEMBERS = [
  'id',
  'event_name',
  'event_time',
  'created_at',
  'action_source',
  'event_class',
  'order_id',
  'value_amount',
  'value_currency',
  'consent_basis',
  'measurement_class',
  'parent_event_id',
  'event_source',
  'payload_expired',
] as const satisfies readonly (keyof Event)[]
const CSV_COLUMNS = [...CSV_MEMBERS, 'delivery_statuses']

function toCsvRow(event: Event): unknown[] {
  const statuses = (event.deliveries ?? []).map(({ status }) => status)
  return [...CSV_MEMBERS.map(name => event[name]), statuses.join(' ')]
}
