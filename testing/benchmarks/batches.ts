import { countAccepted } from './acceptance-round.ts'
import type { BenchFindings, BenchPlan, Closers } from './bench-plan.ts'
import { type BenchStore, openBenchStore } from './bench-store.ts'
import { forkProgram, type ServiceProcess, startServiceProcess } from './child-processes.ts'
import { describeMachine } from './machine.ts'
import { perThousand, readProcessSeconds, readProcessTreeSeconds } from './process-cost.ts'
import { formatAim, formatFigure, formatTable, median } from './report-format.ts'
import { type LoadResult, runLoad } from './run-load.ts'

/** Events of a request; null for createEvent. */
const SIZES = [null, 20, 100] as const
/** 128 single requests wait at a time, and as many events in batches would be seven requests. */
const BATCH_CONNECTIONS = 16
/** Events in batches of 20 for each request of bare `node:http`. */
const AIM = { limit: 1.45, direction: 'at least' } as const

interface Cost {
  load: LoadResult
  accepted: number
  serviceCpuSeconds: number | null
  storeCpuSeconds: number | null
}

/** Requests a second of bare HTTP, and what each size of batch costs, in one round. */
interface Round {
  bareHttp: number
  costs: Cost[]
}

/**
 * Events in single requests and in batches, in alternation with bare HTTP whose requests have one
 * event: the ratio depends less on the machine than the speed does.
 */
export async function measureBatches(plan: BenchPlan, closers: Closers): Promise<BenchFindings> {
  const store = await openBenchStore()
  closers.push(store.close)
  const machine = await describeMachine(store.database, store.dataDirectory)
  const service = await startServiceProcess({ role: 'serve', dataDirectory: store.dataDirectory })
  closers.push(service.stop)
  const bareHttp = await forkProgram({ program: 'bare-http.ts', answerSecondsMax: 30 })
  closers.push(bareHttp.stop)
  const connections = plan.connections.at(-1) as number
  const target = bareHttp.message as { origin: string; trackerSecret: string }
  const rounds: Round[] = []
  for (let round = 0; round < plan.rounds; round += 1) {
    const { eventsPerSecond } = await runLoad({ ...plan, ...target, connections })
    const costs: Cost[] = []
    for (const size of SIZES) costs.push(await measureSize(plan, { store, service, size }))
    rounds.push({ bareHttp: eventsPerSecond, costs })
  }
  const accepted = rounds.flatMap(({ costs }) => costs).reduce((sum, one) => sum + one.accepted, 0)
  const { rows } = await store.database.pool.query('select count(*)::integer as events from events')
  const { events } = rows[0] as { events: number }
  const faults = events === accepted ? [] : [`${accepted} were acknowledged, ${events} are stored.`]
  return { text: `${machine}\n\n${report(rounds)}`, faults }
}

interface Measured {
  store: BenchStore
  service: ServiceProcess
  size: number | null
}

async function measureSize(plan: BenchPlan, { store, service, size }: Measured): Promise<Cost> {
  const { trackerSecret } = store.tracker
  const read = () => ({
    service: readProcessSeconds(service.processId),
    store: readProcessTreeSeconds(store.processId),
  })
  const before = read()
  const load = await runLoad({
    ...plan,
    origin: service.url,
    trackerSecret,
    connections: size === null ? (plan.connections.at(-1) as number) : BATCH_CONNECTIONS,
    ...(size !== null && { batchEvents: size }),
  })
  const after = read()
  const accepted = countAccepted(load)
  return {
    load,
    accepted,
    serviceCpuSeconds: perThousand(before.service, after.service, accepted),
    storeCpuSeconds: perThousand(before.store, after.store, accepted),
  }
}

/** Null without /proc. */
function medianCpu(seconds: readonly (number | null)[]): number | null {
  const known = seconds.filter(one => one !== null)
  return known.length === 0 ? null : median(known)
}

function report(rounds: readonly Round[]): string {
  const bareHttp = median(rounds.map(round => round.bareHttp))
  const rows = SIZES.map((size, index) => {
    const measured = rounds.map(({ costs }) => costs[index] as Cost)
    const perSecond = median(measured.map(({ load }) => load.eventsPerSecond))
    const ratio = perSecond / bareHttp
    return [
      size === null ? 'createEvent' : `createEvents, ${size} each`,
      formatFigure(perSecond, 0),
      formatFigure(ratio, 2),
      formatFigure(median(measured.map(({ load }) => load.p99Milliseconds)), 1),
      formatFigure(medianCpu(measured.map(one => one.serviceCpuSeconds)), 3),
      formatFigure(medianCpu(measured.map(one => one.storeCpuSeconds)), 3),
      formatAim(size === 20 ? AIM : undefined, ratio),
    ]
  })
  const head = [...['', 'events/s', 'of bare HTTP', 'p99 ms', 'CPU s per 1,000', 'PostgreSQL', '']]
  return [
    `bare node:http: ${formatFigure(bareHttp, 0)} requests a second`,
    '',
    formatTable([head, ...rows]),
  ].join('\n')
}
