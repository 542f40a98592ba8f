import type { Database } from '../../service/runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../service/runtime/util/time.ts'
import { expireOldEvents } from '../../service/signals/retention/expire-events.ts'
import { expirePayloads } from '../../service/signals/retention/expire-payloads.ts'
import { countAccepted } from './acceptance-round.ts'
import type { BenchFindings, BenchPlan, Closers } from './bench-plan.ts'
import { type BenchStore, openBenchStore } from './bench-store.ts'
import { type ServiceProcess, startServiceProcess } from './child-processes.ts'
import { storeExpiredPayloads, storeListedEvents, vacuumStore } from './listed-events.ts'
import { describeMachine } from './machine.ts'
import {
  type Aim,
  formatAim,
  formatFigure,
  formatMeasure,
  formatTable,
  type Measure,
  readMedian,
} from './report-format.ts'
import { type LoadResult, runLoad } from './run-load.ts'

interface RetentionFigures {
  machine: string
  connections: number
  /** Rows due to expire in each round. */
  payloads: number
  events: number
  /** The maximum speed without expiry. */
  topPerSecond: number
  rounds: RetentionRound[]
  /** Accepted events of all loads, and those in the ledger afterwards. */
  accepted: number
  stored: number
}

interface RetentionRound {
  /** Half of the maximum speed without expiry. */
  alone: LoadResult
  /** The same with expiry of payloads and events. */
  beside: LoadResult
  expiry: Expiry
}

interface Expiry {
  partitions: number
  payloadMilliseconds: number
  events: number
  eventsMilliseconds: number
  /** Whether rows of the old day remain. */
  payloadsLeft: number
}

const PAYLOAD_DAYS = 90
const LEDGER_MONTHS = 25
/** Every expired event is older than this, beyond the retention of the ledger. */
const LEDGER_DAYS = 800
const WEEK_DAYS = 7
/** Share of the maximum speed, which leaves CPU for other work of the process. */
const HALF = 0.5
/** Between two checks of the time. */
const BATCHES = 10

/** Expires a day of payloads and old events during acceptance at half of the maximum speed. */
export async function measureRetention(
  plan: BenchPlan,
  closers: Closers,
): Promise<RetentionFigures> {
  const store = await openBenchStore()
  closers.push(store.close)
  const machine = await describeMachine(store.database, store.dataDirectory)
  const service = await startServiceProcess({ role: 'serve', dataDirectory: store.dataDirectory })
  closers.push(service.stop)
  const connections = plan.connections.at(-1) as number
  const load = createLoader(plan, { store, service })
  const top = await load()
  const perSecondMax = Math.max(1, Math.round(top.eventsPerSecond * HALF))
  const rounds: RetentionRound[] = []
  for (let round = 0; round < plan.rounds; round += 1) {
    await storeExpired(store, plan)
    const alone = await load(perSecondMax)
    const pauseSeconds = plan.warmUpSeconds
    const [beside, expiry] = await Promise.all([
      load(perSecondMax),
      expireDuringLoad(store, { pauseSeconds, seconds: plan.seconds }),
    ])
    rounds.push({ alone, beside, expiry })
  }
  const loads = [top, ...rounds.flatMap(({ alone, beside }) => [alone, beside])]
  return {
    machine,
    connections,
    ...plan.retention,
    topPerSecond: top.eventsPerSecond,
    rounds,
    accepted: loads.reduce((sum, result) => sum + countAccepted(result), 0),
    stored: await countStored(store),
  }
}

function createLoader(plan: BenchPlan, setup: { store: BenchStore; service: ServiceProcess }) {
  const { url: origin } = setup.service
  const { trackerSecret } = setup.store.tracker
  const connections = plan.connections.at(-1) as number
  return (perSecondMax?: number) =>
    runLoad({
      ...plan,
      origin,
      trackerSecret,
      connections,
      ...(perSecondMax !== undefined && { perSecondMax }),
    })
}

/** With a new tracker, so that the rows of rounds are separate. */
async function storeExpired(store: BenchStore, { retention }: BenchPlan): Promise<void> {
  const { database } = store
  const tracker = await store.newTracker()
  const receivedAt = new Date(Date.now() - (PAYLOAD_DAYS + 1) * DAY_MILLISECONDS)
  await storeExpiredPayloads(database, tracker, { count: retention.payloads, receivedAt })
  // A week is dropped when its last day is due.
  const until = new Date(Date.now() - (LEDGER_DAYS + WEEK_DAYS) * DAY_MILLISECONDS)
  await storeListedEvents(database, tracker, { count: retention.events, until })
  await vacuumStore(database)
}

/**
 * Runs the expiry jobs after the warm-up: first all payloads, then events until the load ends.
 */
async function expireDuringLoad(
  { database }: BenchStore,
  { pauseSeconds, seconds }: { pauseSeconds: number; seconds: number },
): Promise<Expiry> {
  await new Promise(resolve => setTimeout(resolve, pauseSeconds * 1_000))
  const now = new Date()
  const start = performance.now()
  const endsAt = start + seconds * 1_000
  let partitions = 0
  for (let more = true; more; ) {
    const expired = await expirePayloads({ database, now, payloadDays: PAYLOAD_DAYS })
    partitions += expired.partitions
    more = expired.more || expired.isLocked
  }
  const between = performance.now()
  const eventsBefore = await countOldEvents(database)
  const ledgerStart = performance.now()
  for (let more = true; more; ) {
    const ledger = { database, now, ledgerMonths: LEDGER_MONTHS, batchesMax: BATCHES }
    const expired = await expireOldEvents(ledger)
    more = (expired.more || expired.isLocked) && performance.now() < endsAt
  }
  const eventsMilliseconds = performance.now() - ledgerStart
  return {
    partitions,
    payloadMilliseconds: between - start,
    events: eventsBefore - (await countOldEvents(database)),
    eventsMilliseconds,
    payloadsLeft: await countOldPayloads(database),
  }
}

async function countOldEvents({ pool }: Database): Promise<number> {
  const { rows } = await pool.query(
    `select count(*) as count from events where created_at < now() - make_interval(days => $1)`,
    [LEDGER_DAYS],
  )
  return rows[0].count
}

async function countOldPayloads({ pool }: Database): Promise<number> {
  const { rows } = await pool.query(
    `select count(*) as count from event_payloads where received_on < now()::date - $1::integer`,
    [PAYLOAD_DAYS],
  )
  return rows[0].count
}

async function countStored({ database, tracker }: BenchStore): Promise<number> {
  const { rows } = await database.pool.query(
    'select count(*) as count from events where tracker_id = $1',
    [tracker.trackerId],
  )
  return rows[0].count
}

/** Expiry may reduce acceptance at half of the maximum speed by a fifth. */
const LOST_AIM: Aim = { limit: 0.2, direction: 'at most' }

const MEASURES: Measure<RetentionRound>[] = [
  {
    name: 'half of the maximum speed, events/s',
    digits: 0,
    read: ({ alone }) => alone.eventsPerSecond,
  },
  { name: '    p50 ms', digits: 1, read: ({ alone }) => alone.p50Milliseconds },
  { name: '    p99 ms', digits: 1, read: ({ alone }) => alone.p99Milliseconds },
  { name: '    longest ms', digits: 0, read: ({ alone }) => alone.maxMilliseconds },
  {
    name: 'the same while rows expire, events/s',
    digits: 0,
    read: ({ beside }) => beside.eventsPerSecond,
  },
  { name: '    p50 ms', digits: 1, read: ({ beside }) => beside.p50Milliseconds },
  { name: '    p99 ms', digits: 1, read: ({ beside }) => beside.p99Milliseconds },
  { name: '    longest ms', digits: 0, read: ({ beside }) => beside.maxMilliseconds },
  {
    name: 'reduction by expiry',
    digits: 3,
    read: ({ alone, beside }) => 1 - beside.eventsPerSecond / alone.eventsPerSecond,
    aim: LOST_AIM,
  },
  { name: 'days of payloads dropped', digits: 0, read: ({ expiry }) => expiry.partitions },
  { name: '    in ms', digits: 0, read: ({ expiry }) => expiry.payloadMilliseconds },
  { name: 'events expired', digits: 0, read: ({ expiry }) => expiry.events },
  {
    name: '    per second',
    digits: 0,
    read: ({ expiry }) => (expiry.events * 1_000) / expiry.eventsMilliseconds,
  },
]

/** A table of the medians of all rounds. */
export function reportRetention(figures: RetentionFigures): BenchFindings {
  const { machine, connections, payloads, events, topPerSecond, rounds } = figures
  const rows = MEASURES.map(measure => [
    measure.name,
    formatMeasure(measure, rounds),
    formatAim(measure.aim, readMedian(measure, rounds)),
  ])
  const text = [
    machine,
    `medians of ${rounds.length} rounds over ${connections} connections; in each expire ` +
      `${formatFigure(payloads, 0)} payloads of one day and ${formatFigure(events, 0)} events of ` +
      'thirty days with theirs',
    '',
    formatTable([['maximum speed, events/s', formatFigure(topPerSecond, 0), ''], ...rows]),
    '',
    `rows ${figures.stored}, 2xx answers ${figures.accepted}`,
  ].join('\n')
  return { text, faults: findFaults(figures) }
}

function findFaults({ rounds, stored, accepted }: RetentionFigures): string[] {
  const left = rounds.reduce((sum, { expiry }) => sum + expiry.payloadsLeft, 0)
  const refused = rounds.flatMap(({ alone, beside }) =>
    [alone, beside].flatMap(({ answers }) => Object.keys(answers).filter(code => code !== '202')),
  )
  return [
    ...(left === 0 ? [] : [`${left} expired payloads are still there.`]),
    ...(refused.length === 0 ? [] : [`Some responses were ${[...new Set(refused)].join(', ')}.`]),
    ...(stored === accepted ? [] : [`${accepted} were accepted and ${stored} are stored.`]),
  ]
}
