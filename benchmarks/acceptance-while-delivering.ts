import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findRunningEmbeddedPostgres } from '@signalbox/embedded-postgres/embedded-postgres.ts'
import type { Credentials } from '../service/provisioning/credentials-file.ts'
import { acceptedCount } from './acceptance-round.ts'
import type { BenchPlan, Closers } from './bench-plan.ts'
import { benchFolder, openBenchDatabase } from './bench-store.ts'
import type { LoadResult } from './load-plan.ts'
import { type ProcessMemory, processMemory } from './process-cost.ts'
import { runLoad } from './run-load.ts'
import { startServiceProcess } from './service-process.ts'

export interface DeliveringFigures {
  connections: number
  load: LoadResult
  accepted: number
  events: number
  /** Of them, accepted by the simulator when the load ended. */
  delivered: number
  memory: ProcessMemory | null
}

/** (a') The program as `npm start` runs it: one process accepts and delivers, simulator beside. */
export async function measureWhileDelivering(
  plan: BenchPlan,
  closers: Closers,
): Promise<DeliveringFigures> {
  const dataDirectory = benchFolder()
  closers.push(async () => rmSync(dataDirectory, { recursive: true, force: true }))
  const service = await startServiceProcess({ role: 'all', dataDirectory })
  closers.push(service.stop)
  const credentials: Credentials = JSON.parse(
    readFileSync(join(dataDirectory, 'credentials.json'), 'utf8'),
  )
  const connections = plan.connections.at(-1) as number
  const target = { origin: service.url, trackerSecret: credentials.tracker_secret }
  const load = await runLoad({ ...plan, ...target, connections })
  const memory = processMemory(service.processId)
  const counts = await countDelivered(dataDirectory)
  await service.stop()
  return { connections, load, accepted: acceptedCount(load), ...counts, memory }
}

async function countDelivered(dataDirectory: string) {
  const connectionString = await findRunningEmbeddedPostgres(dataDirectory)
  if (connectionString === null) throw new Error('the store of role all is gone')
  const database = openBenchDatabase(connectionString)
  try {
    const { rows } = await database.pool.query(
      `select (select count(*)::integer from events) as events,
         (select count(*)::integer from all_deliveries where status = 'accepted') as delivered`,
    )
    return rows[0] as { events: number; delivered: number }
  } finally {
    await database.close()
  }
}
