import type { Database } from '../service/db/database.ts'
import { indexListPositions } from '../service/events/list-position-store.ts'
import { listEventRefs } from '../service/events/list-store.ts'
import { recordPlans } from '../testing/recorded-plans.ts'
import type { BenchPlan, Closers } from './bench-plan.ts'
import { openBenchStore } from './bench-store.ts'
import { settleStore, storeListedEvents } from './listed-events.ts'
import { describeMachine } from './machine.ts'
import { startServiceProcess } from './service-process.ts'

export interface ListFigures {
  machine: string
  /** To write the list positions of all trackers. */
  positionSeconds: number
  /** One a size, the smallest first. */
  sizes: ListSize[]
}

export interface ListSize {
  events: number
  /** What the list itself said. */
  total: number
  firstPage: Latency
  deepPage: Latency
  /** In the middle of the list, and in the middle of its day. */
  middlePage: Latency
  /** What the store touches to find the events of that page, a hundred of them. */
  middleBuffers: number
  lastPage: Latency
  /** A request that asks the store nothing but whether it is there. */
  readiness: Latency
}

/** Of sequential requests over one kept connection, in milliseconds. */
export interface Latency {
  p50: number
  p99: number
}

const DEEP_PAGE = 1_000
const PER_PAGE = 25
const BUFFERS_PAGE = 100

/** Lists trackers of different sizes in one store, through the service as a user starts it. */
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
  await settleStore(database)
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
    // The first one of a connection also reads the catalog.
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
