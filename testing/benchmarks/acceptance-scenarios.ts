import type { Database } from '../../service/runtime/db/database.ts'
import { countAccepted } from './acceptance-round.ts'
import { startAllRole } from './all-role.ts'
import type { BenchPlan, Closers } from './bench-plan.ts'
import { openBenchStore } from './bench-store.ts'
import { startServiceProcess } from './child-processes.ts'
import { type ProcessMemory, readProcessMemory } from './process-cost.ts'
import { type LoadResult, runLoad } from './run-load.ts'

export interface DeliveringFigures {
  connections: number
  load: LoadResult
  accepted: number
  events: number
  /** Those that the simulator had accepted when the load ended. */
  delivered: number
  memory: ProcessMemory | null
}

/** (a') The program as started by `npm start`: one process accepts and delivers. */
export async function measureWhileDelivering(
  plan: BenchPlan,
  closers: Closers,
): Promise<DeliveringFigures> {
  const program = await startAllRole(closers)
  const connections = plan.connections.at(-1) as number
  const load = await runLoad({ ...plan, ...program.target, connections })
  const memory = readProcessMemory(program.service.processId)
  const counts = await countRows(program.database)
  await program.stop()
  return { connections, load, accepted: countAccepted(load), ...counts, memory }
}

async function countRows({ pool }: Database) {
  const { rows } = await pool.query(
    `select (select count(*)::integer from events) as events,
       (select count(*)::integer from all_deliveries where status = 'accepted') as delivered`,
  )
  return rows[0] as { events: number; delivered: number }
}

export interface LargeBodyFigures {
  connections: number
  load: LoadResult
  accepted: number
  events: number
  /** Null without /proc. */
  memory: ProcessMemory | null
}

/** The maximum size of a body. */
const BODY_BYTES = 65_536

/**
 * (e) The largest accepted bodies on all connections concurrently, sent to a separate service: its
 * peak memory must fit on a small machine.
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
  const memory = readProcessMemory(service.processId)
  await service.stop()
  const { rows } = await store.database.pool.query('select count(*)::integer as events from events')
  return { connections, load, accepted: countAccepted(load), events: rows[0].events, memory }
}
