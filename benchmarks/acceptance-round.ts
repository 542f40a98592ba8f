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
  storeless: Target
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
  /** Processor time that a thousand events of (a) took; null where there is no /proc. */
  serviceCpuSeconds: number | null
  storeCpuSeconds: number | null
}

/** Measures (a), (b) and (c), one after the other, under the same load. */
export async function measureRound(
  { store, service, storeless, bare }: AcceptanceStage,
  plan: RoundPlan,
): Promise<AcceptanceRound> {
  const startedAt = new Date()
  const cpuBefore = cpuOf(store, service)
  const served = await runLoad({ ...service, ...plan })
  const cpuAfter = cpuOf(store, service)
  const rowsPerCommit = await meanRowsPerCommit(store, startedAt)

  const unstored = await runLoad({ ...storeless, ...plan })
  const bareEventsPerSecond = await measureBareStore(bare.database, {
    ...plan,
    ...bare.tracker,
    run: randomBytes(6).toString('hex'),
    rowsPerCommit: Math.max(1, Math.round(rowsPerCommit)),
  })
  const thousands = acceptedCount(served) / 1_000
  return {
    service: served,
    storeless: unstored,
    bareEventsPerSecond,
    rowsPerCommit,
    serviceCpuSeconds: perThousand(cpuBefore.service, cpuAfter.service, thousands),
    storeCpuSeconds: perThousand(cpuBefore.store, cpuAfter.store, thousands),
  }
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
