import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { ProvisionedTracker } from '../service/provisioning/provision-tracker.ts'
import type { AlertTransition } from '../service/reports/alert-store.ts'
import { takeDueSnapshots, type UnavailableReading } from '../service/reports/take-snapshots.ts'
import { samplePurchase } from './sample-purchase.ts'
import { type ServiceUnderTest, serviceUnderTest } from './service-under-test.ts'

/** Identities that the platform matches worse or better. */
export const WEAK = { client_ip_address: '8.8.8.8', client_user_agent: 'Mozilla/5.0' }
export const WITH_EMAIL = { ...WEAK, em: 'jane@example.com' }
export const STRONG = {
  ...WITH_EMAIL,
  ph: '+4915112345678',
  external_id: 'customer-1',
  fbc: 'fb.1.1795262400000.AbCdEfGhIjKlMnOpQrStUvWxYz0123456789',
  fbp: 'fb.1.1795262400000.1234567890',
}

/** A service whose match quality is measured, and all that was told of it. */
export interface SnapshotTaking extends ServiceUnderTest {
  moves: AlertTransition[]
  unavailable: UnavailableReading[]
  take(signal?: AbortSignal): ReturnType<typeof takeDueSnapshots>
  /** So many purchases with this identity, sent to the platform at once. */
  send(userData: object, options?: { count?: number; tracker?: ProvisionedTracker }): Promise<void>
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of any answer
  snapshots(tracker?: ProvisionedTracker): Promise<any[]>
  // biome-ignore lint/suspicious/noExplicitAny: rows as they lie in the store
  rows(table: string): Promise<any[]>
}

/** Starts everything for one test. */
export async function snapshotTaking(test: TestContext, startAt?: string): Promise<SnapshotTaking> {
  const service = await serviceUnderTest(test, startAt ? { startAt } : {})
  const { database, clock, delivery } = service
  const moves: AlertTransition[] = []
  const unavailable: UnavailableReading[] = []
  const context = {
    ...delivery,
    onAlert: (move: AlertTransition) => void moves.push(move),
    onUnavailable: (reading: UnavailableReading) => void unavailable.push(reading),
  }
  let sent = 0
  return {
    ...service,
    moves,
    unavailable,
    take: signal => takeDueSnapshots(context, { now: clock.now(), ...(signal && { signal }) }),
    send: async (userData, { count = 20, tracker = service.tracker } = {}) => {
      for (let index = 0; index < count; index += 1) {
        sent += 1
        const consent = { ad_user_data: 'granted', captured_at: clock.now().toISOString() }
        const body = samplePurchase({ event_id: `o-${sent}`, user_data: userData, consent })
        delete body.visitor_id
        const { trackerSecret: secret } = tracker
        const { status, text } = await service.request('POST', '/api/v1/events', { secret, body })
        assert.equal(status, 202, text)
      }
      await service.deliver()
    },
    snapshots: async ({ trackerSecret: secret } = service.tracker) => {
      const { status, body } = await service.request('GET', '/api/v1/reports/emq', { secret })
      assert.equal(status, 200)
      return body.snapshots
    },
    rows: async table => (await database.pool.query(`select * from ${table}`)).rows,
  }
}
