import { randomBytes } from 'node:crypto'
import { measureBareStore } from './bare-store.ts'
import type { BenchDatabase, BenchStore } from './bench-store.ts'
import type { LoadResult } from './load-plan.ts'
import { familySeconds, processSeconds } from './process-cost.ts'
import { runLoad } from './run-load.ts'

/** Everything that a round measures, already running. */
export interface AcceptanceStage {
  store: BenchStore
  service: Target & { processId: number }
  storeless: Target & { processId: number }
  bareHttp: Target & { processId: number }
  bare: BenchDatabase
}

export interface Target {
  origin: string
  trackerSecret: string
}

export interface RoundPlan {
  connections: number
  warmUpSeconds: number
  seconds: number
}

/** One round with one number of connections. */
export interface AcceptanceRound {
  /** (a) Durable events, over HTTP. */
  service: LoadResult
  /** (b) The same server without the store. */
  storeless: LoadResult
  /** (c) The same rows without HTTP: events a second, in commits as large as those of (a). */
  bareEventsPerSecond: number
  rowsPerCommit: number
  /** (d) HTTP alone: a body is read and parsed, and answered with a small one. */
  bareHttp: LoadResult
  /** Processor time that a thousand events of (a) took; null where there is no /proc. */
  serviceCpuSeconds: number | null
  storeCpuSeconds: number | null
  /** The same of (b) and of (d). */
  storelessCpuSeconds: number | null
  bareHttpCpuSeconds: number | null
}

/** Measures (a) to (d), one after the other, under the same load. */
export async function measureRound(
  { store, service, storeless, bareHttp, bare }: AcceptanceStage,
  plan: RoundPlan,
): Promise<AcceptanceRound> {
  const startedAt = new Date()
  const cpuBefore = cpuOf(store, service)
  const served = await runLoad({ ...service, ...plan })
  const cpuAfter = cpuOf(store, service)
  const rowsPerCommit = await meanRowsPerCommit(store, startedAt)

  const unstored = await measureProgram(storeless, plan)
  const unserved = await measureProgram(bareHttp, plan)
  const bareEventsPerSecond = await measureBareStore(bare.database, {
    ...plan,
    ...bare.tracker,
    run: randomBytes(6).toString('hex'),
    rowsPerCommit: Math.max(1, Math.round(rowsPerCommit)),
  })
  const thousands = acceptedCount(served) / 1_000
  return {
    service: served,
    storeless: unstored.load,
    bareHttp: unserved.load,
    bareEventsPerSecond,
    rowsPerCommit,
    serviceCpuSeconds: perThousand(cpuBefore.service, cpuAfter.service, thousands),
    storeCpuSeconds: perThousand(cpuBefore.store, cpuAfter.store, thousands),
    storelessCpuSeconds: unstored.cpuSeconds,
    bareHttpCpuSeconds: unserved.cpuSeconds,
  }
}

async function measureProgram(program: Target & { processId: number }, plan: RoundPlan) {
  const before = processSeconds(program.processId)
  const load = await runLoad({ ...program, ...plan })
  const after = processSeconds(program.processId)
  return { load, cpuSeconds: perThousand(before, after, acceptedCount(load) / 1_000) }
}

export function acceptedCount({ answers }: LoadResult): number {
  return answers['202'] ?? 0
}

function cpuOf(store: BenchStore, service: { processId: number }) {
  return { store: familySeconds(store.processId), service: processSeconds(service.processId) }
}

function perThousand(before: number | null, after: number | null, thousands: number) {
  return before === null || after === null ? null : (after - before) / thousands
}

/** Every row names the transaction that inserted it, so the commits can be counted afterwards. */
async function meanRowsPerCommit({ database }: BenchStore, since: Date): Promise<number> {
  const { rows } = await database.pool.query(
    `select count(*)::float / greatest(count(distinct xmin::text), 1) as mean
     from events where created_at >= $1`,
    [since],
  )
  return rows[0].mean
}
