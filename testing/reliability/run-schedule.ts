import { setTimeout as delay } from 'node:timers/promises'
import { restoreTokens, scriptFaults } from '../fixtures/simulator.ts'
import { pollUntil } from '../fixtures/wait-until.ts'
import { FIRST_PLATFORM, toPartName } from './campaign-platforms.ts'
import { type EventLoad, startEventLoad } from './event-load.ts'
import { injectFault } from './inject-fault.ts'
import type { Installation } from './installation.ts'
import { describeFault, describeKind, type Fault, type Schedule } from './schedule.ts'
import type { StoreServer } from './store-server.ts'
import { verifySchedule } from './verify-schedule.ts'

/** What happened in one schedule: cycles of a fault and a recovery, then a check of everything. */
export interface ScheduleResult {
  seed: number
  cycles: CycleResult[]
  acknowledged: number
  /** Submissions that clients sent again. */
  retries: number
  /** Copies that the platform received, beyond one of each event. */
  repeats: number
  /** Requests of Google Ads whose result was read. */
  receipts: number
  /** From the last fault until all is settled. */
  settleMilliseconds: number
  /** One sentence for each broken promise. */
  violations: string[]
}

interface CycleResult {
  kind: string
  /** From the end of the fault until the next event is acknowledged. */
  recoveryMilliseconds: number
}

interface RunOptions {
  /** Acknowledged erasures of earlier schedules on this installation. */
  erasures: number
  /** Ends the leases of lost workers by a statement, where a short run cannot wait for them. */
  endsLeases?: boolean
  onCycle?: (sentence: string) => void
}

/** The service has to work again by itself within this time of the end of a fault. */
const RECOVERY_SECONDS_MAX = 45
const PAUSE_MILLISECONDS = 200

/** Runs one schedule on a running installation, which is as good as new afterwards. */
export async function runSchedule(
  installation: Installation,
  schedule: Schedule,
  options: RunOptions,
): Promise<ScheduleResult & { erasures: number }> {
  const { origins, credentials } = installation
  const prefix = `s${schedule.seed}`
  const load = startEventLoad({
    origins,
    trackerSecret: credentials.tracker_secret,
    prefix,
    seed: schedule.seed,
  })
  const cycles: CycleResult[] = []
  const violations: string[] = []
  const add = (violation: string) => void violations.push(violation)
  try {
    for (const fault of schedule.faults) {
      options.onCycle?.(describeFault(fault))
      cycles.push(await runCycle(installation, { fault, load, add }))
    }
  } finally {
    await endFaults(installation)
  }
  const settledAt = performance.now()
  await settle(installation, { load, add, ...options })
  const settleMilliseconds = Math.round(performance.now() - settledAt)
  const receipts = await settleReceipts(installation, add)
  const erasures = options.erasures + load.erasures()
  const verified = await verifySchedule(installation, { load, prefix, erasures })
  await prepareNextSchedule(installation)
  return {
    seed: schedule.seed,
    cycles,
    acknowledged: load.acknowledged(),
    retries: load.retries(),
    repeats: verified.repeats,
    receipts,
    settleMilliseconds,
    violations: [...violations, ...verified.violations],
    erasures,
  }
}

interface CycleOptions {
  fault: Fault
  load: EventLoad
  add: (violation: string) => void
}

async function runCycle(
  installation: Installation,
  { fault, load, add }: CycleOptions,
): Promise<CycleResult> {
  await injectFault(installation, fault)
  const start = performance.now()
  const before = load.acknowledged()
  const hasRecovered = await pollUntil(() => load.acknowledged() > before, RECOVERY_SECONDS_MAX)
  if (!hasRecovered) {
    add(`no event was acknowledged for ${RECOVERY_SECONDS_MAX} s after ${describeFault(fault)}`)
  }
  const recoveryMilliseconds = Math.round(performance.now() - start)
  await delay(PAUSE_MILLISECONDS)
  return { kind: describeKind(fault), recoveryMilliseconds }
}

async function endFaults({ simulator, proxies, store, processes }: Installation): Promise<void> {
  await scriptFaults(simulator.url, [])
  await restoreTokens(simulator.url)
  for (const proxy of Object.values(proxies).flat()) proxy.setMode({ mode: 'forward' })
  await store.waitUntilReady(RECOVERY_SECONDS_MAX)
  for (const process of processes.values()) process.setClock({ wallSeconds: 0 })
}

/** Waits of the retry policy and of a paused destination, of which several may follow. */
const WAITS_SECONDS = [3_700, 14_400, 46_800, 46_800]
const WAIT_MILLISECONDS = 2_500
const SETTLE_SECONDS_MAX = 90

/**
 * Waits until every process is ready and every delivery is final. Leases end in real time; the
 * clocks of the processes skip the hours of retries.
 */
async function settle(
  installation: Installation,
  { load, add, endsLeases = false }: RunOptions & Pick<CycleOptions, 'load' | 'add'>,
): Promise<void> {
  const { processes, store } = installation
  for (const process of processes.values()) {
    await process.waitUntilReady().catch(({ message }) => add(message))
  }
  await load.stop()
  const countWaiting = async (condition = 'true') => {
    const [row] = await store.query(
      `select count(*)::int as waiting from delivery_queue
       where next_attempt_at is not null and ${condition}`,
    )
    return Number(row?.waiting)
  }
  if (endsLeases) await endLeases(store)
  let nextWaitAt = performance.now() + WAIT_MILLISECONDS
  let waits = 0
  const isSettled = await pollUntil(async () => {
    if ((await countWaiting()) === 0) return true
    // A lease that is running ends in real time; skipping hours meanwhile would change nothing.
    const skippable = await countWaiting('(leased_until is null or leased_until < now())')
    if (performance.now() < nextWaitAt || skippable === 0) return false
    const seconds = WAITS_SECONDS[waits] ?? 0
    skipTime(installation, seconds)
    waits += 1
    nextWaitAt = performance.now() + WAIT_MILLISECONDS
    return false
  }, SETTLE_SECONDS_MAX)
  if (isSettled) return
  const waiting = await describeWaiting(store)
  add(`${await countWaiting()} deliveries wait after ${SETTLE_SECONDS_MAX} s (${waiting})`)
}

/** What the deliveries wait for, to find the cause of a violation that does not come again. */
export async function describeWaiting(store: Pick<StoreServer, 'query'>): Promise<string> {
  const rows = await store.query(
    `select count(*)::int as deliveries, type as platform, queue.status, attempt_count,
       min(next_attempt_at) as due_from, max(next_attempt_at) as due_until,
       count(leased_until)::int as leased, max(leased_until) as leased_until,
       destinations.status as destination, backoff_cause, backoff_until, next_probe_at, now()
     from delivery_queue queue join destinations
       on destinations.tracker_id = queue.tracker_id and destinations.id = destination_id
     where next_attempt_at is not null
     group by destinations.tracker_id, destinations.id, queue.status, attempt_count
     order by 1 desc limit 8`,
  )
  return rows.map(row => JSON.stringify(row)).join(', ')
}

/** Longer than the service waits before it asks for the result of a request. */
const RECEIPT_WAIT_SECONDS = 1_860
const RECEIPTS_SECONDS_MAX = 60

/** Has the service ask Google Ads for every result that is open. Returns how many there are. */
async function settleReceipts(
  installation: Installation,
  add: CycleOptions['add'],
): Promise<number> {
  const { store } = installation
  const count = async (condition: string) => {
    const [row] = await store.query(
      `select count(*)::int as receipts from request_receipts where ${condition}`,
    )
    return Number(row?.receipts)
  }
  const isSettled = await pollUntil(async () => {
    if ((await count('next_poll_at is not null')) === 0) return true
    skipTime(installation, RECEIPT_WAIT_SECONDS)
    await store.query(
      `select signalbox_jobs.add_job('poll-receipts', job_key => 'poll-receipts-of-the-campaign')`,
    )
    await delay(POLL_JOB_MILLISECONDS)
    return false
  }, RECEIPTS_SECONDS_MAX)
  if (!isSettled) add(`${await count('next_poll_at is not null')} results were not read`)
  return count(`state in ('succeeded', 'partially_succeeded')`)
}

/** For a run of the job, and until a process has read its new clock. */
const POLL_JOB_MILLISECONDS = 5_000

function skipTime({ processes, simulatorClock }: Installation, seconds: number): void {
  simulatorClock.aheadSeconds += seconds
  for (const process of processes.values()) {
    const { wallSeconds, monotonicSeconds } = process.offsets
    process.setClock({
      wallSeconds: wallSeconds + seconds,
      monotonicSeconds: monotonicSeconds + seconds,
    })
  }
}

async function endLeases(store: StoreServer): Promise<void> {
  await delay(500)
  await store.query(
    `update delivery_queue set leased_until = statement_timestamp() - interval '1 second'
     where leased_until is not null`,
  )
}

/** An event of this schedule that the platform receives later is a violation of the next one. */
async function prepareNextSchedule(installation: Installation): Promise<void> {
  const { processes, simulator, simulatorClock, store, destinations } = installation
  simulatorClock.aheadSeconds = 0
  for (const process of processes.values()) process.setClock({ wallSeconds: 0 })
  for (const platform of destinations.keys()) {
    const path = platform === FIRST_PLATFORM ? 'received' : `${toPartName(platform)}/received`
    await fetch(`${simulator.url}/_simulator/${path}`, { method: 'DELETE' })
  }
  await store.query('truncate request_receipts, request_receipt_deliveries')
  await store.checkpoint()
}
