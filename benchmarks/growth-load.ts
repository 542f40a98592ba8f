import { randomBytes, randomUUID } from 'node:crypto'
import type { Database } from '../service/db/database.ts'
import { insertAttempt } from '../service/delivery/attempt-store.ts'
import { type ClaimedDelivery, claimDeliveries } from '../service/delivery/claim-store.ts'
import { settleDeliveries } from '../service/delivery/settlement-store.ts'
import { findEventsById } from '../service/events/store.ts'
import { formatUtcDay } from '../service/util/calendar-day.ts'
import {
  LARGE_DESTINATION,
  LARGE_STORE_DAY,
  LARGE_TRACKER,
} from '../testing/performance/large-store.ts'
import { createPurchaseDraft } from './purchase-drafts.ts'
import { createPurchaseCommitter } from './stored-deliveries.ts'

/** Where the clock of the load begins: on the day on which `generateEvents` makes rows. */
export const GROWTH_NOW = new Date(`${LARGE_STORE_DAY}T20:00:00.000Z`)

export interface Accepted {
  events: number
  /** Of the commits alone; purchases are made between them. */
  milliseconds: number
}

/** Accepts and delivers purchases of one tracker by the statements of the service. */
export interface GrowthLoad {
  accept(until: (accepted: Accepted) => boolean): Promise<Accepted>
  /** Delivers up to so many of those that wait, and returns how many. */
  deliver(count: number): Promise<number>
}

const EVENTS_PER_COMMIT = 512
const DELIVERIES_PER_REQUEST = 1_000
const LEASE_SECONDS = 60
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
        const settled = await deliverRequest(database, { limit, at: now() })
        if (settled === 0) break
        delivered += settled
      }
      return delivered
    },
  }
}

/** What a worker asks of the store for one request that the platform accepts. */
async function deliverRequest(
  database: Database,
  { limit, at }: { limit: number; at: Date },
): Promise<number> {
  const destination = { trackerId: LARGE_TRACKER, destinationId: LARGE_DESTINATION }
  const { deliveries, leaseEndsAt } = await claimDeliveries(database, {
    queue: { ...destination, isProbe: false },
    limit,
    claimedAt: at,
    leaseSeconds: LEASE_SECONDS,
  })
  if (deliveries.length === 0) return 0
  const ids = deliveries.map(({ eventId }) => eventId)
  await findEventsById(database, LARGE_TRACKER, ids)
  const attemptId = randomUUID()
  const traceId = `A${randomBytes(12).toString('hex')}`
  await insertAttempt(database, {
    ...destination,
    id: attemptId,
    startedAt: at,
    durationMilliseconds: 1,
    eventCount: deliveries.length,
    isTest: false,
    result: {
      outcome: 'accepted',
      httpStatus: 200,
      traceId,
      answer: { events_received: deliveries.length, messages: [], fbtrace_id: traceId },
      waitSeconds: 0,
      error: null,
    },
  })
  return settleDeliveries(database, {
    ...destination,
    leaseEndsAt,
    at,
    settlements: deliveries.map(delivery => acceptedSettlement(delivery, { attemptId, traceId })),
    sent: {
      groups: [{ number: 0, eventName: 'Purchase', eventOn: formatUtcDay(at), keys: MATCH_KEYS }],
      marks: new Map(deliveries.map(({ id }) => [id, { groupNumber: 0, unknown: 0 }])),
    },
  })
}

function acceptedSettlement(
  { createdAt, id }: ClaimedDelivery,
  { attemptId, traceId }: { attemptId: string; traceId: string },
) {
  return {
    createdAt,
    id,
    status: 'accepted',
    reason: 'accepted',
    nextAttemptAt: null,
    replayableUntil: null,
    isUncounted: false,
    error: null,
    traceId,
    attemptId,
  } as const
}
