import { hash } from 'node:crypto'
import type { TestContext } from 'node:test'
import { type Database, openDatabase } from '../../service/runtime/db/database.ts'
import { HOUR_MILLISECONDS } from '../../service/runtime/util/time.ts'
import type { EarlierEvent } from './accept-events.ts'
import {
  addPayloadDay,
  addTrackers,
  createEarlierStore,
  type EarlierStore,
} from './earlier-store.ts'
import {
  accept,
  createAcknowledged,
  deliver,
  rememberDeliveries,
  replay,
} from './earlier-writers.ts'

/** Opens connections of this version without timeouts, because a migration takes long. */
export function openUpgradedDatabase(
  test: TestContext,
  { connectionString }: EarlierStore,
): Database {
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
export const OTHER_TRACKER = '0190aaaa-0000-7000-8000-000000000002'
export const OLD_TRACKER = '0190aaaa-0000-7000-8000-000000000003'
export const STORED_AT = new Date('2026-11-21T12:00:00.000Z')
export const ERASED_DIGEST = hash('sha256', 'erased@example.com')
const STATUSES = ['queued', 'queued', 'queued', 'skipped:consent'] as const

/** The nth event of a tracker. Its delivery has the same number. */
export function createEarlierEvent(trackerId: string, n: number): EarlierEvent {
  return {
    trackerId,
    eventId: `event-${n}`,
    createdAt: new Date(STORED_AT.getTime() - (n % 240) * HOUR_MILLISECONDS - n),
    visitorId: `visitor-${n % 500}`,
    email: n % 100 === 7 ? ERASED_DIGEST : hash('sha256', `${n}@example.com`),
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

/** Three trackers with 1,000 events each, with deliveries in every status. */
export async function createFilledStore(test: TestContext) {
  const store = await createEarlierStore(test)
  const known = createAcknowledged()
  await addTrackers(store, [TRACKER, OTHER_TRACKER, OLD_TRACKER])
  for (const day of ['2026-11-19', '2026-11-20', '2026-11-21']) await addPayloadDay(store, day)
  for (const trackerId of [TRACKER, OTHER_TRACKER, OLD_TRACKER]) {
    const events = numbers(1, 1_000).map(n => createEarlierEvent(trackerId, n))
    await accept(store, events, known)
    for (let claims = 0; claims < 15; claims += 1) await deliver(store, trackerId, known)
    await replay(store, { trackerId, limit: 20 }, known)
  }
  await store.pool.query('update delivery_id_counters set last_id = 1000000')
  await rememberDeliveries(store, known)
  return { store, known }
}
