import type { Database } from '../../service/runtime/db/database.ts'
import { indexListPositions } from '../../service/signals/events/list-position-store.ts'
import { listEventRefs } from '../../service/signals/events/list-store.ts'
import { recordPlans } from '../performance/query-plans.ts'
import type { BenchFindings, BenchPlan, Closers } from './bench-plan.ts'
import { openBenchStore } from './bench-store.ts'
import { startServiceProcess } from './child-processes.ts'
import { storeListedEvents, vacuumStore } from './listed-events.ts'
import { describeMachine } from './machine.ts'
import { formatAim, formatFigure, formatTable } from './report-format.ts'

interface ListFigures {
  machine: string
  /** The time to write the list positions of all trackers. */
  positionSeconds: number
  /** One per size, smallest first. */
  sizes: ListSize[]
}

interface ListSize {
  events: number
  /** The total that the list returned. */
  total: number
  firstPage: Latency
  deepPage: Latency
  /** A page in the middle of the list and of its day. */
  middlePage: Latency
  /** Buffers that the store reads to find the hundred events of that page. */
  middleBuffers: number
  lastPage: Latency
  /** A request that only checks the store's health. */
  readiness: Latency
}

/** Of sequential requests over one keep-alive connection, in milliseconds. */
interface Latency {
  p50: number
  p99: number
}

const DEEP_PAGE = 1_000
const PER_PAGE = 25
const BUFFERS_PAGE = 100

/** Lists trackers of different sizes in one store, through the running service. */
export async function measureList({ list }: BenchPlan, closers: Closers): Promise<ListFigures> {
  const store = await openBenchStore()
  closers.push(store.close)
  const { database, dataDirectory } = store
  const machine = await describeMachine(database, dataDirectory)
  const trackers = []
  for (const events of list.events) {
    const tracker = await store.newTracker()
    await storeListedEvents(database, tracker, { count: events })
    trackers.push({ ...tracker, events })
  }
  const positionsFrom = performance.now()
  await indexListPositions({ database, signal: new AbortController().signal })
  const positionSeconds = (performance.now() - positionsFrom) / 1_000
  await vacuumStore(database)
  const service = await startServiceProcess({ role: 'serve', dataDirectory })
  closers.push(service.stop)
  const sizes: ListSize[] = []
  for (const { trackerId, trackerSecret, events } of trackers) {
    const ask = asker(service.url, trackerSecret)
    const measure = (path: string) => latencyOf(() => ask(path), list.requests)
    const pageOf = (page: number) => measure(`/api/v1/dashboard/events?page=${page}`)
    const first = await ask('/api/v1/dashboard/events')
    sizes.push({
      events,
      total: first.events.total,
      firstPage: await pageOf(1),
      deepPage: await pageOf(Math.min(DEEP_PAGE, Math.ceil(events / PER_PAGE))),
      middlePage: await pageOf(Math.ceil(events / 2 / PER_PAGE)),
      middleBuffers: await buffersOf(database, trackerId, Math.floor(events / 2)),
      lastPage: await pageOf(first.events.last_page),
      readiness: await measure('/readyz'),
    })
  }
  return { machine, positionSeconds, sizes }
}

async function buffersOf({ pool }: Database, trackerId: string, offset: number): Promise<number> {
  const { database, takePlans } = recordPlans(pool.options.connectionString as string)
  try {
    // The first statement of a connection also reads the catalog.
    await listEventRefs(database, { trackerId, offset, limit: BUFFERS_PAGE })
    takePlans()
    await listEventRefs(database, { trackerId, offset, limit: BUFFERS_PAGE })
    return takePlans().reduce((sum, { buffers }) => sum + buffers, 0)
  } finally {
    await database.close()
  }
}

function asker(origin: string, trackerSecret: string) {
  const headers = { authorization: `Bearer ${trackerSecret}` }
  return async (path: string) => {
    const response = await fetch(`${origin}${path}`, { headers })
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}`)
    return (await response.json()) as { events: { total: number; last_page: number } }
  }
}

async function latencyOf(ask: () => Promise<unknown>, requests: number): Promise<Latency> {
  const milliseconds: number[] = []
  for (let request = 0; request < requests; request += 1) {
    const start = performance.now()
    await ask()
    milliseconds.push(performance.now() - start)
  }
  milliseconds.sort((a, b) => a - b)
  const at = (share: number) => milliseconds[Math.ceil(requests * share) - 1] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}

const AIM = { limit: 20, direction: 'at most' } as const
const BUFFERS_AIM = { limit: 500, direction: 'at most' } as const
const GROWTH_AIM = { limit: 2, direction: 'at most' } as const

const READS: [name: string, read: (size: ListSize) => Latency, isAimed: boolean][] = [
  ['first page', ({ firstPage }) => firstPage, true],
  ['page 1,000', ({ deepPage }) => deepPage, true],
  ['middle page', ({ middlePage }) => middlePage, true],
  ['last page', ({ lastPage }) => lastPage, false],
  ['/readyz, for comparison', ({ readiness }) => readiness, false],
]

/** A row for each kind of page and size. Each page includes the dashboard metrics. */
export function reportList({ machine, positionSeconds, sizes }: ListFigures): BenchFindings {
  const rows = sizes.flatMap(size =>
    READS.map(([name, read, isAimed]) => {
      const { p50, p99 } = read(size)
      const label = `${name}, of ${formatFigure(size.events, 0)} events`
      const aim = formatAim(isAimed ? AIM : undefined, p99)
      return [label, formatFigure(p50, 1), formatFigure(p99, 1), aim]
    }),
  )
  const text = [
    machine,
    'sequential requests over one connection, milliseconds',
    '',
    formatTable([['', 'p50', 'p99', ''], ...rows]),
    '',
    `list positions written in ${formatFigure(positionSeconds, 1)} s`,
    ...sizes.map(({ events, middleBuffers }) => {
      const aim = formatAim(BUFFERS_AIM, middleBuffers)
      const size = formatFigure(events, 0)
      return `buffers of the middle page, of ${size} events: ${middleBuffers}; ${aim}`
    }),
    ...formatGrowth(sizes),
  ].join('\n')
  return { text, faults: sizes.flatMap(findFaults) }
}

function formatGrowth(sizes: readonly ListSize[]): string[] {
  const [smallest, largest] = [sizes[0], sizes.at(-1)]
  if (!smallest || !largest || smallest === largest) return []
  return READS.filter(([, , isAimed]) => isAimed).map(([name, read]) => {
    const times = read(largest).p99 / read(smallest).p99
    return `${name}: p99 grows ${formatFigure(times, 2)} times; ${formatAim(GROWTH_AIM, times)}`
  })
}

function findFaults({ events, total }: ListSize): string[] {
  return total === events ? [] : [`A list of ${events} events has the total ${total}.`]
}
