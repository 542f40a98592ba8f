import { randomBytes } from 'node:crypto'
import type { Database } from '../../service/runtime/db/database.ts'
import { findEventsById } from '../../service/signals/events/event-store.ts'
import { deliverAccepted } from '../fixtures/deliveries.ts'
import { LARGE_DESTINATION, LARGE_STORE_DAY, LARGE_TRACKER } from '../performance/large-store.ts'
import { createPurchaseDraft } from './purchase-drafts.ts'
import { createPurchaseCommitter } from './stored-deliveries.ts'

/** The start of the load's clock: the day on which `generateEvents` creates rows. */
export const GROWTH_NOW = new Date(`${LARGE_STORE_DAY}T20:00:00.000Z`)

export interface Accepted {
  events: number
  /** Duration of the commits; purchases are created between them. */
  milliseconds: number
}

/** Accepts and delivers purchases of one tracker with the statements of the service. */
export interface GrowthLoad {
  accept(until: (accepted: Accepted) => boolean): Promise<Accepted>
  /** Delivers at most this many pending events and returns their number. */
  deliver(count: number): Promise<number>
}

const EVENTS_PER_COMMIT = 512
const DELIVERIES_PER_REQUEST = 1_000
const MATCH_KEYS = ['client_ip_address', 'country', 'em', 'external_id', 'fbc', 'fbp', 'ph']

export function createGrowthLoad(database: Database): GrowthLoad {
  const commit = createPurchaseCommitter(database)
  const run = randomBytes(6).toString('hex')
  const startedAt = Date.now()
  const now = () => new Date(GROWTH_NOW.getTime() + Date.now() - startedAt)
  let count = 0
  const drafts = () =>
    Array.from({ length: EVENTS_PER_COMMIT }, () => {
      count += 1
      return createPurchaseDraft({ trackerId: LARGE_TRACKER, count, run, at: now() })
    })
  const readEvents = (deliveries: readonly { eventId: string }[]) =>
    findEventsById(
      database,
      LARGE_TRACKER,
      deliveries.map(({ eventId }) => eventId),
    )
  return {
    accept: async isEnough => {
      const accepted: Accepted = { events: 0, milliseconds: 0 }
      while (!isEnough(accepted)) {
        const group = drafts()
        const start = performance.now()
        const outcomes = await commit(group)
        accepted.milliseconds += performance.now() - start
        accepted.events += outcomes.filter(({ isNew }) => isNew).length
      }
      return accepted
    },
    deliver: async deliveriesMax => {
      let delivered = 0
      while (delivered < deliveriesMax) {
        const limit = Math.min(DELIVERIES_PER_REQUEST, deliveriesMax - delivered)
        const settled = await deliverAccepted(database, {
          trackerId: LARGE_TRACKER,
          destinationId: LARGE_DESTINATION,
          limit,
          at: now(),
          traceId: `A${randomBytes(12).toString('hex')}`,
          matchKeys: MATCH_KEYS,
          readEvents,
        })
        if (settled === 0) break
        delivered += settled
      }
      return delivered
    },
  }
}
