import type { Database } from '../service/db/database.ts'
import type { PlannedDelivery } from '../service/delivery/plan-store.ts'
import type { EventRecord } from '../service/events/event-record.ts'
import { planEvent } from '../service/ingestion/plan-event.ts'
import { insertEvents } from '../service/ingestion/store.ts'
import { marksOf } from './purchase-body.ts'
import { purchaseDraft } from './purchase-draft.ts'

export interface BareStorePlan {
  /** Twelve hexadecimal digits that all ids of this run share. */
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
 * The same rows by the same statement, one commit in flight, but without HTTP, validation or
 * hashing: the rows are made beforehand and only get new keys. Returns events a second.
 */
export async function measureBareStore(database: Database, plan: BareStorePlan): Promise<number> {
  const rows = Array.from({ length: VARIANTS }, (_, count) => plannedRows(plan, count))
  const warmUntil = performance.now() + plan.warmUpSeconds * 1_000
  let count = 0
  const commit = async () => {
    const batch = nextBatch(rows, count, plan)
    count += plan.rowsPerCommit
    await insertEvents(
      database,
      batch.map(({ entry }) => entry),
      batch.map(({ delivery }) => delivery),
    )
  }
  while (performance.now() < warmUntil) await commit()

  const [start, countBefore] = [performance.now(), count]
  const endsAt = start + plan.seconds * 1_000
  while (performance.now() < endsAt) await commit()
  return ((count - countBefore) * 1_000) / (performance.now() - start)
}

interface Rows {
  entry: EventRecord
  delivery: PlannedDelivery
}

function plannedRows({ trackerId, destinationId, run }: BareStorePlan, count: number): Rows {
  const at = new Date()
  const { entry, deliveries } = planEvent(purchaseDraft({ trackerId, count, run, at }), {
    withdrawnAt: null,
    routes: [{ id: destinationId, platform: 'meta', isTest: false }],
    windowEndsAt: () => new Date(at.getTime() + WINDOW_MILLISECONDS),
    nextDeliveryId: () => 0,
  })
  return { entry, delivery: deliveries[0] as PlannedDelivery }
}

/** In order of the keys, as the service commits them. */
function nextBatch(rows: readonly Rows[], first: number, plan: BareStorePlan): Rows[] {
  const batch = Array.from({ length: plan.rowsPerCommit }, (_, index) =>
    rekeyed(rows[index % rows.length] as Rows, first + index, plan.run),
  )
  return batch.sort((a, b) => (a.entry.eventId < b.entry.eventId ? -1 : 1))
}

/** Another event of another visitor; every text keeps its length. */
function rekeyed({ entry, delivery }: Rows, count: number, run: string): Rows {
  const { hex } = marksOf(count, run)
  const eventId = hex + entry.eventId.slice(hex.length)
  const visitorId = hex + (entry.session?.visitorId.slice(hex.length) ?? '')
  return {
    entry: {
      ...entry,
      eventId,
      payload: entry.payload && { ...entry.payload, visitorId },
      session: entry.session && { ...entry.session, visitorId },
    },
    delivery: { ...delivery, eventId, id: count },
  }
}
