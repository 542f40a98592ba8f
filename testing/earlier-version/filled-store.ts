import { hash } from 'node:crypto'
import type { TestContext } from 'node:test'
import { type Database, openDatabase } from '../../service/db/database.ts'
import type { EarlierEvent } from './accept-events.ts'
import { addPayloadDay, addTrackers, type EarlierStore, earlierStore } from './earlier-store.ts'
import {
  accept,
  deliver,
  emptyAcknowledged,
  rememberDeliveries,
  replay,
} from './earlier-writers.ts'

/** Connections of this version, with the time that a migration needs. */
export function openNew(test: TestContext, { connectionString }: EarlierStore): Database {
  const database = openDatabase({
    connectionString,
    connectionsMax: 6,
    applicationName: 'upgrade test',
    onIdleError: () => {},
    hasNoTimeouts: true,
  })
  test.after(() => database.close())
  return database
}

export const TRACKER = '0190aaaa-0000-7000-8000-000000000001'
export const OTHER = '0190aaaa-0000-7000-8000-000000000002'
export const OLD = '0190aaaa-0000-7000-8000-000000000003'
export const STORED_AT = new Date('2026-11-21T12:00:00.000Z')
export const ERASED = hash('sha256', 'erased@example.com')
const STATUSES = ['queued', 'queued', 'queued', 'skipped:consent'] as const
const HOUR_MILLISECONDS = 3_600_000

/** The n-th event of a tracker; its delivery has the same number. */
export function earlierEvent(trackerId: string, n: number): EarlierEvent {
  return {
    trackerId,
    eventId: `event-${n}`,
    createdAt: new Date(STORED_AT.getTime() - (n % 240) * HOUR_MILLISECONDS - n),
    visitorId: `visitor-${n % 500}`,
    email: n % 100 === 7 ? ERASED : hash('sha256', `${n}@example.com`),
    deliveries: [
      { id: n, destinationId: trackerId, status: STATUSES[n % STATUSES.length] as string },
    ],
    isWithdrawal: n % 50 === 3,
    isUnindexed: n % 10 === 7,
  }
}

export function numbers(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index)
}

/** Three trackers with a thousand events each, in every state that a delivery can have. */
export async function filledStore(test: TestContext) {
  const store = await earlierStore(test)
  const known = emptyAcknowledged()
  await addTrackers(store, [TRACKER, OTHER, OLD])
  for (const day of ['2026-11-19', '2026-11-20', '2026-11-21']) await addPayloadDay(store, day)
  for (const trackerId of [TRACKER, OTHER, OLD]) {
    const events = numbers(1, 1_000).map(n => earlierEvent(trackerId, n))
    await accept(store, events, known)
    for (let claims = 0; claims < 15; claims += 1) await deliver(store, trackerId, known)
    await replay(store, { trackerId, limit: 20 }, known)
  }
  await store.pool.query('update delivery_id_counters set last_id = 1000000')
  await rememberDeliveries(store, known)
  return { store, known }
}
