import { type AllRole, countStored, startAllRole } from './all-role.ts'
import type { BenchPlan, Closers } from './bench-plan.ts'
import { type BenchStore, openBenchStore } from './bench-store.ts'
import { forkProgram, startServiceProcess } from './child-processes.ts'
import { describeMachine } from './machine.ts'
import {
  perThousand,
  readProcessMemory,
  readProcessSeconds,
  readProcessTreeSeconds,
} from './process-cost.ts'
import { type LoadPlan, type LoadResult, runLoad } from './run-load.ts'
import { measureSoak, type SoakRun } from './soak.ts'
import { readWalPosition } from './store-statistics.ts'

/** One program under the largest load, and then under half of it. */
export interface LoadRun {
  top: LoadResult
  /** Null for bare HTTP. */
  half: LoadResult | null
  /** Per thousand requests of `top`; null without /proc. */
  serviceCpuSeconds: number | null
  storeCpuSeconds: number | null
  /** Per request of `top`. */
  walBytes: number | null
  peakMegabytes: number | null
  /** Events that the store has and that were acknowledged as new. */
  stored: number
}

/** Bare HTTP, `serve` in each scenario, and `npm start`. */
export interface LoadRound {
  bare: LoadRun
  serve: LoadRun[]
  all: LoadRun
}

export interface LoadScenario {
  workers: number
  trackers: number
  /** Of a hundred requests, those that repeat an acknowledged purchase. */
  duplicates: number
}

export interface LoadFigures {
  machine: string
  plan: BenchPlan
  scenarios: LoadScenario[]
  rounds: LoadRound[]
  /** Null when it was skipped. */
  soak: SoakRun | null
}

const READY_SECONDS_MAX = 30
const HALF = 0.5
/** Each connection has purchases to repeat when the measurement begins. */
const ORIGINALS_PER_CONNECTION = 20

/**
 * What one machine accepts: the numbers of HTTP workers, trackers and duplicates vary one at a
 * time, and all three at once in the last scenario. Every figure is the median of the rounds; the
 * speed is also a ratio to bare HTTP of the same round. Finally `npm start` receives half of its
 * largest load for as long as `soakSeconds`, and its memory is read all the time.
 */
export async function measureLoad(plan: BenchPlan, closers: Closers): Promise<LoadFigures> {
  const store = await openBenchStore()
  closers.push(store.close)
  const machine = await describeMachine(store.database, store.dataDirectory)
  const scenarios = listScenarios(plan)
  const secrets = await provisionTrackers(store, Math.max(...plan.load.trackers))
  const rounds: LoadRound[] = []
  while (rounds.length < plan.rounds) {
    const bare = await measureBare(plan)
    const serve: LoadRun[] = []
    for (const scenario of scenarios) {
      serve.push(await measureServe(plan, { store, scenario, secrets }))
    }
    rounds.push({ bare, serve, all: await measureAll(plan, closers) })
  }
  const soak = plan.load.soakSeconds === 0 ? null : await measureSoak(plan, closers)
  return { machine, plan, scenarios, rounds, soak }
}

/** The first number of each kind is the base from which one number at a time varies. */
function listScenarios({ workers, load }: BenchPlan): LoadScenario[] {
  const { trackers, duplicates } = load
  const base = {
    workers: workers[0] as number,
    trackers: trackers[0] as number,
    duplicates: duplicates[0] as number,
  }
  const mixed = {
    workers: workers.at(-1) as number,
    trackers: trackers.at(-1) as number,
    duplicates: duplicates[1] ?? base.duplicates,
  }
  return [
    base,
    ...workers.slice(1).map(count => ({ ...base, workers: count })),
    ...trackers.slice(1).map(count => ({ ...base, trackers: count })),
    ...duplicates.slice(1).map(percent => ({ ...base, duplicates: percent })),
    ...(workers.length > 1 && trackers.length > 1 ? [mixed] : []),
  ]
}

/** As many at once as the store has connections. */
const PROVISIONED_AT_ONCE = 4

async function provisionTrackers(store: BenchStore, count: number): Promise<string[]> {
  const secrets = [store.tracker.trackerSecret]
  const provision = async () => {
    while (secrets.length < count) secrets.push((await store.newTracker()).trackerSecret)
  }
  await Promise.all(Array.from({ length: PROVISIONED_AT_ONCE }, provision))
  return secrets
}

async function measureBare(plan: BenchPlan): Promise<LoadRun> {
  const bare = await forkProgram({ program: 'bare-http.ts', answerSecondsMax: READY_SECONDS_MAX })
  try {
    const target = bare.message as { origin: string; trackerSecret: string }
    const before = readProcessSeconds(bare.processId)
    const top = await runLoad({ ...loadPlan(plan), ...target })
    const requests = countAnswers(top)
    return {
      top,
      half: null,
      serviceCpuSeconds: perThousand(before, readProcessSeconds(bare.processId), requests),
      storeCpuSeconds: null,
      walBytes: null,
      peakMegabytes: null,
      stored: top.answers['202'] ?? 0,
    }
  } finally {
    await bare.stop()
  }
}

interface ServeRequest {
  store: BenchStore
  scenario: LoadScenario
  secrets: readonly string[]
}

async function measureServe(
  plan: BenchPlan,
  { store, scenario, secrets }: ServeRequest,
): Promise<LoadRun> {
  const { dataDirectory, tracker, processId: storeProcessId, database } = store
  const settings = { SIGNALBOX_HTTP_WORKERS: String(scenario.workers) }
  const service = await startServiceProcess({ role: 'serve', dataDirectory, settings })
  const { connections } = loadPlan(plan)
  const { trackers, duplicates } = scenario
  try {
    return await measureProgram(
      { service, database, storeProcessId },
      {
        ...loadPlan(plan),
        origin: service.url,
        trackerSecret: tracker.trackerSecret,
        ...(trackers > 1 && { trackerSecrets: secrets.slice(0, trackers) }),
        warmUpRequests: Math.max(
          trackers > 1 ? trackers : 0,
          duplicates > 0 ? connections * ORIGINALS_PER_CONNECTION : 0,
        ),
        duplicatePercent: duplicates,
      },
    )
  } finally {
    await service.stop()
  }
}

async function measureAll(plan: BenchPlan, closers: Closers): Promise<LoadRun> {
  const program = await startAllRole(closers)
  const run = await measureProgram(program, { ...loadPlan(plan), ...program.target })
  await program.stop()
  return run
}

async function measureProgram(
  { service, database, storeProcessId }: Pick<AllRole, 'service' | 'database' | 'storeProcessId'>,
  load: Omit<LoadPlan, 'mark'>,
): Promise<LoadRun> {
  const before = await countStored(database)
  const [serviceBefore, storeBefore] = [
    readProcessSeconds(service.processId),
    readProcessTreeSeconds(storeProcessId),
  ]
  const walBefore = await readWalPosition(database)
  const top = await runLoad(load)
  const [serviceAfter, storeAfter] = [
    readProcessSeconds(service.processId),
    readProcessTreeSeconds(storeProcessId),
  ]
  const wal = (await readWalPosition(database)).bytes - walBefore.bytes
  const perSecondMax = Math.max(1, Math.round(top.eventsPerSecond * HALF))
  const half = await runLoad({ ...load, perSecondMax })
  const requests = countAnswers(top)
  return {
    top,
    half,
    serviceCpuSeconds: perThousand(serviceBefore, serviceAfter, requests),
    storeCpuSeconds: perThousand(storeBefore, storeAfter, requests),
    walBytes: wal / requests,
    peakMegabytes: readProcessMemory(service.processId)?.peakMegabytes ?? null,
    stored: (await countStored(database)).events - before.events,
  }
}

function loadPlan({ connections, warmUpSeconds, seconds }: BenchPlan) {
  return { connections: connections[0] as number, warmUpSeconds, seconds }
}

function countAnswers({ answers }: LoadResult): number {
  return Object.values(answers).reduce((sum, count) => sum + count, 0)
}
