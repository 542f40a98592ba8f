import { randomBytes } from 'node:crypto'
import type { Database } from '../../service/runtime/db/database.ts'
import type { PlannedDelivery } from '../../service/signals/delivery/plan-store.ts'
import type { EventRecord } from '../../service/signals/events/event-record.ts'
import { insertEvents } from '../../service/signals/ingestion/commit-store.ts'
import { planEvent } from '../../service/signals/ingestion/plan-event.ts'
import type { BenchDatabase, BenchStore } from './bench-store.ts'
import { perThousand, readProcessSeconds, readProcessTreeSeconds } from './process-cost.ts'
import { createPurchaseDraft } from './purchase-drafts.ts'
import { createPurchaseMarks } from './purchase-request.ts'
import { type LoadResult, runLoad } from './run-load.ts'

/** The running programs that a round measures. */
export interface AcceptanceTargets {
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

interface RoundPlan {
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
  /** (c) The same rows without HTTP: events per second, in commits as large as those of (a). */
  bareEventsPerSecond: number
  rowsPerCommit: number
  /** (d) HTTP alone: reads and parses a body, and responds with a small one. */
  bareHttp: LoadResult
  /** CPU time of a thousand events of (a); null without /proc. */
  serviceCpuSeconds: number | null
  storeCpuSeconds: number | null
  /** The same for (b) and (d). */
  storelessCpuSeconds: number | null
  bareHttpCpuSeconds: number | null
}

/** Measures (a) to (d), one after the other, under the same load. */
export async function measureRound(
  { store, service, storeless, bareHttp, bare }: AcceptanceTargets,
  plan: RoundPlan,
): Promise<AcceptanceRound> {
  const startedAt = new Date()
  const cpuBefore = readCpuSeconds(store, service)
  const served = await runLoad({ ...service, ...plan })
  const cpuAfter = readCpuSeconds(store, service)
  const rowsPerCommit = await meanRowsPerCommit(store, startedAt)

  const unstored = await measureProgram(storeless, plan)
  const unserved = await measureProgram(bareHttp, plan)
  const bareEventsPerSecond = await measureBareStore(bare.database, {
    ...plan,
    ...bare.tracker,
    run: randomBytes(6).toString('hex'),
    rowsPerCommit: Math.max(1, Math.round(rowsPerCommit)),
  })
  const accepted = countAccepted(served)
  return {
    service: served,
    storeless: unstored.load,
    bareHttp: unserved.load,
    bareEventsPerSecond,
    rowsPerCommit,
    serviceCpuSeconds: perThousand(cpuBefore.service, cpuAfter.service, accepted),
    storeCpuSeconds: perThousand(cpuBefore.store, cpuAfter.store, accepted),
    storelessCpuSeconds: unstored.cpuSeconds,
    bareHttpCpuSeconds: unserved.cpuSeconds,
  }
}

async function measureProgram(program: Target & { processId: number }, plan: RoundPlan) {
  const before = readProcessSeconds(program.processId)
  const load = await runLoad({ ...program, ...plan })
  const after = readProcessSeconds(program.processId)
  return { load, cpuSeconds: perThousand(before, after, countAccepted(load)) }
}

export function countAccepted({ answers }: LoadResult): number {
  return answers['202'] ?? 0
}

function readCpuSeconds(store: BenchStore, service: { processId: number }) {
  return {
    store: readProcessTreeSeconds(store.processId),
    service: readProcessSeconds(service.processId),
  }
}

/** Every row has the ID of its transaction, so the commits can be counted afterwards. */
async function meanRowsPerCommit({ database }: BenchStore, since: Date): Promise<number> {
  const { rows } = await database.pool.query(
    `select count(*)::float / greatest(count(distinct xmin::text), 1) as mean
     from events where created_at >= $1`,
    [since],
  )
  return rows[0].mean
}

interface BareStorePlan {
  /** Twelve hexadecimal digits, common to all IDs of this run. */
  run: string
  trackerId: string
  destinationId: string
  rowsPerCommit: number
  warmUpSeconds: number
  seconds: number
}

const WINDOW_MILLISECONDS = 7 * 86_400_000
const VARIANTS = 64

/**
 * The same rows and the same statement, one commit in flight, without HTTP, validation or hashing:
 * the rows are prepared and only get new keys. Returns events per second.
 */
async function measureBareStore(database: Database, plan: BareStorePlan): Promise<number> {
  const rows = Array.from({ length: VARIANTS }, (_, count) => createRows(plan, count))
  const warmUntil = performance.now() + plan.warmUpSeconds * 1_000
  let count = 0
  const commit = async () => {
    const batch = nextBatch(rows, count, plan)
    count += plan.rowsPerCommit
    await insertEvents(
      database,
      batch.map(({ record }) => record),
      batch.map(({ delivery }) => delivery),
    )
  }
  while (performance.now() < warmUntil) await commit()

  const [start, countBefore] = [performance.now(), count]
  const endsAt = start + plan.seconds * 1_000
  while (performance.now() < endsAt) await commit()
  return ((count - countBefore) * 1_000) / (performance.now() - start)
}

interface BareStoreRow {
  record: EventRecord
  delivery: PlannedDelivery
}

function createRows({ trackerId, destinationId, run }: BareStorePlan, count: number): BareStoreRow {
  const at = new Date()
  const { record, deliveries } = planEvent(createPurchaseDraft({ trackerId, count, run, at }), {
    withdrawals: { bySecret: null, byPage: null },
    routes: [{ id: destinationId, platform: 'meta', isTest: false }],
    windowEndsAt: () => new Date(at.getTime() + WINDOW_MILLISECONDS),
    nextDeliveryId: () => 0,
  })
  return { record, delivery: deliveries[0] as PlannedDelivery }
}

/** In key order, as the service commits them. */
function nextBatch(
  rows: readonly BareStoreRow[],
  first: number,
  plan: BareStorePlan,
): BareStoreRow[] {
  const batch = Array.from({ length: plan.rowsPerCommit }, (_, index) =>
    withNewKeys(rows[index % rows.length] as BareStoreRow, first + index, plan.run),
  )
  return batch.sort((a, b) => (a.record.eventId < b.record.eventId ? -1 : 1))
}

/** A different event of a different visitor, with texts of the same lengths. */
function withNewKeys({ record, delivery }: BareStoreRow, count: number, run: string): BareStoreRow {
  const { hex } = createPurchaseMarks(count, run)
  const eventId = hex + record.eventId.slice(hex.length)
  const visitorId = hex + (record.session?.visitorId.slice(hex.length) ?? '')
  return {
    record: {
      ...record,
      eventId,
      payload: record.payload && { ...record.payload, visitorId },
      session: record.session && { ...record.session, visitorId },
    },
    delivery: { ...delivery, eventId, id: count },
  }
}
