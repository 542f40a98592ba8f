import { acceptedCount } from './acceptance-round.ts'
import type { BenchPlan, Closers } from './bench-plan.ts'
import { openBenchStore } from './bench-store.ts'
import type { LoadResult } from './load-plan.ts'
import { type ProcessMemory, processMemory } from './process-cost.ts'
import { runLoad } from './run-load.ts'
import { startServiceProcess } from './service-process.ts'

export interface LargeBodyFigures {
  connections: number
  load: LoadResult
  accepted: number
  events: number
  /** Null where there is no /proc. */
  memory: ProcessMemory | null
}

/** The most that a body may have. */
const BODY_BYTES = 65_536

/**
 * (e) The largest bodies that the service takes, on all connections at once, sent to a service that
 * is measured for nothing else: what it holds at most must fit into a small machine.
 */
export async function measureLargeBodies(
  plan: BenchPlan,
  closers: Closers,
): Promise<LargeBodyFigures> {
  const store = await openBenchStore()
  closers.push(store.close)
  const { dataDirectory, tracker } = store
  const service = await startServiceProcess({ role: 'serve', dataDirectory })
  closers.push(service.stop)
  const connections = plan.connections.at(-1) as number
  const target = { origin: service.url, trackerSecret: tracker.trackerSecret }
  const load = await runLoad({ ...plan, ...target, connections, bodyBytes: BODY_BYTES })
  const memory = processMemory(service.processId)
  await service.stop()
  const { rows } = await store.database.pool.query('select count(*)::integer as events from events')
  return { connections, load, accepted: acceptedCount(load), events: rows[0].events, memory }
}
