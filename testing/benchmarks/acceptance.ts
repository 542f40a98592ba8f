import {
  type AcceptanceRound,
  type AcceptanceTargets,
  countAccepted,
  measureRound,
  type Target,
} from './acceptance-round.ts'
import {
  type DeliveringFigures,
  type LargeBodyFigures,
  measureLargeBodies,
  measureWhileDelivering,
} from './acceptance-scenarios.ts'
import type { BenchPlan, Closers } from './bench-plan.ts'
import { type BenchStore, openBenchStore } from './bench-store.ts'
import { forkProgram, startServiceProcess } from './child-processes.ts'
import { describeMachine } from './machine.ts'
import { type ProcessMemory, readProcessMemory } from './process-cost.ts'
import { runLoad } from './run-load.ts'

export interface AcceptanceFigures {
  machine: string
  /** The speed of the load generator against a server that does nothing. */
  generatorPerSecond: number
  /** In the order of the plan's connections. */
  loads: { connections: number; rounds: AcceptanceRound[] }[]
  rows: RowCounts
  /** Memory of the service after all rounds; null without /proc. */
  memory: ProcessMemory | null
  whileDelivering: DeliveringFigures
  largeBodies: LargeBodyFigures
}

/** Stored rows and received responses, for comparison. */
export interface RowCounts {
  events: number
  deliveries: number
  accepted: number
}

const READY_SECONDS_MAX = 30

/**
 * Measures acceptance in four ways, alternating over several rounds: (a) `serve` on the embedded
 * store, (b) the same server without the store, (c) the store without the server, (d) HTTP alone.
 * Then once with role `all`, which also delivers, and once with the largest bodies.
 */
export async function measureAcceptance(
  plan: BenchPlan,
  closers: Closers,
): Promise<AcceptanceFigures> {
  const store = await openBenchStore()
  closers.push(store.close)
  const machine = await describeMachine(store.database, store.dataDirectory)
  const generatorPerSecond = await measureGenerator(plan)
  const setup = await startTargets(store, closers)
  const loads = plan.connections.map(connections => ({
    connections,
    rounds: [] as AcceptanceRound[],
  }))
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const { connections, rounds } of loads) {
      rounds.push(await measureRound(setup, { ...plan, connections }))
    }
  }
  const accepted = loads
    .flatMap(({ rounds }) => rounds)
    .reduce((sum, { service }) => sum + countAccepted(service), 0)
  const memory = readProcessMemory(setup.service.processId)
  await setup.service.stop()
  return {
    machine,
    generatorPerSecond,
    loads,
    rows: { ...(await countRows(store)), accepted },
    memory,
    whileDelivering: await measureWhileDelivering(plan, closers),
    largeBodies: await measureLargeBodies(plan, closers),
  }
}

async function measureGenerator(plan: BenchPlan): Promise<number> {
  const constant = await forkProgram({
    program: 'constant-server.ts',
    answerSecondsMax: READY_SECONDS_MAX,
  })
  const target = { origin: (constant.message as Target).origin, trackerSecret: 'none' }
  const connections = plan.connections.at(-1) as number
  const { eventsPerSecond } = await runLoad({ ...plan, ...target, connections })
  await constant.stop()
  return eventsPerSecond
}

interface RunningTargets extends AcceptanceTargets {
  service: AcceptanceTargets['service'] & { stop: () => Promise<void> }
}

async function startTargets(store: BenchStore, closers: Closers): Promise<RunningTargets> {
  const { dataDirectory, tracker } = store
  const service = await startServiceProcess({ role: 'serve', dataDirectory })
  closers.push(service.stop)
  const storeless = await forkTarget('storeless.ts', closers)
  const bareHttp = await forkTarget('bare-http.ts', closers)
  return {
    store,
    service: { ...service, origin: service.url, trackerSecret: tracker.trackerSecret },
    storeless,
    bareHttp,
    bare: await store.newDatabase('bare'),
  }
}

async function forkTarget(program: string, closers: Closers) {
  const { processId, message, stop } = await forkProgram({
    program,
    answerSecondsMax: READY_SECONDS_MAX,
  })
  closers.push(stop)
  return { ...(message as Target), processId }
}

async function countRows({ database }: BenchStore): Promise<Omit<RowCounts, 'accepted'>> {
  const { rows } = await database.pool.query(
    `select (select count(*)::integer from events) as events,
       (select count(*)::integer from all_deliveries) as deliveries`,
  )
  return rows[0]
}
