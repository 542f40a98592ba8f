import type { Database } from '../service/db/database.ts'
import { expireOldEvents } from '../service/retention/expire-events.ts'
import { expirePayloads } from '../service/retention/expire-payloads.ts'
import { acceptedCount } from './acceptance-round.ts'
import type { BenchPlan, Closers } from './bench-plan.ts'
import { type BenchStore, openBenchStore } from './bench-store.ts'
import { storeExpiredPayloads } from './expired-payloads.ts'
import { settleStore, storeListedEvents } from './listed-events.ts'
import type { LoadResult } from './load-plan.ts'
import { describeMachine } from './machine.ts'
import { runLoad } from './run-load.ts'
import { type ServiceProcess, startServiceProcess } from './service-process.ts'

export interface RetentionFigures {
  machine: string
  connections: number
  /** What was to expire in each round. */
  payloads: number
  events: number
  /** As fast as the service answers, with nothing expiring. */
  topPerSecond: number
  rounds: RetentionRound[]
  /** Accepted in all loads together, and what the ledger then holds of them. */
  accepted: number
  stored: number
}

export interface RetentionRound {
  /** Half of the top speed, with nothing expiring. */
  alone: LoadResult
  /** The same while payloads and events expire. */
  beside: LoadResult
  expiry: Expiry
}

export interface Expiry {
  partitions: number
  payloadMilliseconds: number
  events: number
  eventsMilliseconds: number
  /** Whether anything of the old day is still there. */
  payloadsLeft: number
}

const DAY_MILLISECONDS = 86_400_000
const PAYLOAD_DAYS = 90
const LEDGER_MONTHS = 25
/** Of which every event is older than that. */
const LEDGER_DAYS = 800
const WEEK_DAYS = 7
/** Of the top speed, so that there is room for what else a process does. */
const HALF = 0.5
/** Between two looks at the time. */
const BATCHES = 10

/** Expires a day of payloads and old events beside acceptance at half of its top speed. */
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
  const load = loader(plan, { store, service })
  const top = await load()
  const perSecondMax = Math.max(1, Math.round(top.eventsPerSecond * HALF))
  const rounds: RetentionRound[] = []
  for (let round = 0; round < plan.rounds; round += 1) {
    await storeExpired(store, plan)
    const alone = await load(perSecondMax)
    const pauseSeconds = plan.warmUpSeconds
    const [beside, expiry] = await Promise.all([
      load(perSecondMax),
      expireBeside(store, { pauseSeconds, seconds: plan.seconds }),
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
    accepted: loads.reduce((sum, result) => sum + acceptedCount(result), 0),
    stored: await countStored(store),
  }
}

function loader(plan: BenchPlan, stage: { store: BenchStore; service: ServiceProcess }) {
  const { url: origin } = stage.service
  const { trackerSecret } = stage.store.tracker
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

/** Of a tracker of its own, so that one round's rows never meet another's. */
async function storeExpired(store: BenchStore, { retention }: BenchPlan): Promise<void> {
  const { database } = store
  const tracker = await store.newTracker()
  const receivedAt = new Date(Date.now() - (PAYLOAD_DAYS + 1) * DAY_MILLISECONDS)
  await storeExpiredPayloads(database, tracker, { count: retention.payloads, receivedAt })
  // A week goes once its last day is due.
  const until = new Date(Date.now() - (LEDGER_DAYS + WEEK_DAYS) * DAY_MILLISECONDS)
  await storeListedEvents(database, tracker, { count: retention.events, until })
  await settleStore(database)
}

/**
 * What the jobs do, once the load is warm: first all payloads, then events for as long as it lasts.
 */
async function expireBeside(
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
