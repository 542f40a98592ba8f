import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findRunningEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { clusterPath } from '@signalbox/embedded-postgres/cluster.ts'
import { findPostmaster } from '@signalbox/embedded-postgres/postmaster.ts'
import type { Credentials } from '../../service/program/provisioning/credentials-file.ts'
import type { Database } from '../../service/runtime/db/database.ts'
import type { Closers } from './bench-plan.ts'
import { benchFolder, openBenchDatabase } from './bench-store.ts'
import { type ServiceProcess, startServiceProcess } from './child-processes.ts'

/** The program that `npm start` starts, on a new store, and connections to observe it. */
export interface AllRole {
  service: ServiceProcess
  dataDirectory: string
  database: Database
  /** Process ID of the postmaster. */
  storeProcessId: number
  target: { origin: string; trackerSecret: string }
  stop(): Promise<void>
}

export async function startAllRole(closers: Closers): Promise<AllRole> {
  const dataDirectory = benchFolder()
  closers.push(async () => rmSync(dataDirectory, { recursive: true, force: true }))
  const service = await startServiceProcess({ role: 'all', dataDirectory })
  closers.push(service.stop)
  const connectionString = await findRunningEmbeddedPostgres(dataDirectory)
  const postmaster = findPostmaster(clusterPath(dataDirectory))
  if (connectionString === null || postmaster === null) {
    throw new Error('the store of role all is not running')
  }
  const database = openBenchDatabase(connectionString)
  closers.push(database.close)
  const credentials: Credentials = JSON.parse(
    readFileSync(join(dataDirectory, 'credentials.json'), 'utf8'),
  )
  return {
    service,
    dataDirectory,
    database,
    storeProcessId: postmaster.processId,
    target: { origin: service.url, trackerSecret: credentials.tracker_secret },
    stop: async () => {
      await database.close()
      await service.stop()
    },
  }
}

/** Events that the store has, and deliveries that the platform accepted. */
export async function countStored({ pool }: Database) {
  const { rows } = await pool.query(
    `select coalesce(sum(planned), 0)::bigint as events,
       coalesce(sum(accepted), 0)::bigint as delivered
     from delivery_counts`,
  )
  return rows[0] as { events: number; delivered: number }
}
