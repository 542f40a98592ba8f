import { randomUUID } from 'node:crypto'
import type { Database } from '../db/database.ts'
import { findEvents, type StoredEvent } from '../ledger/store.ts'
import { visitorKeysOf } from '../ledger/visitor-keys.ts'
import { findWithdrawals } from '../ledger/withdrawal-store.ts'
import type { Platform } from '../platforms/platform.ts'
import { insertAttempt } from './attempt-store.ts'
import {
  type Destination,
  findDestination,
  pauseDestination,
  resumeDestination,
} from './destination-store.ts'
import { laneVerdict, probeWaitSeconds } from './lane-refusal.ts'
import { reviewDelivery, windowEnd } from './review-delivery.ts'
import { openCredential } from './sealed-credential.ts'
import { type SentBatch, type SentRequest, sendEvents } from './send-events.ts'
import { type Settlement, settleByAnswer, settleUnsent } from './settlement.ts'
import { type ClaimedDelivery, claimDeliveries, type Lane, settleDeliveries } from './store.ts'

/** A request is not started when the lease might end before its answer: ten seconds and some. */
const REQUEST_MILLISECONDS_MAX = 12_000

export interface DeliveryContext {
  database: Database
  platform: Platform
  credentialKey: Buffer
  batchMax: number
  leaseSeconds: number
  now: () => Date
  /** From 0 to 1, for the jitter of retries. */
  chance: () => number
}

export interface LaneRun {
  claimedCount: number
  /** The claim was as large as it may be, so more is probably waiting. */
  isFull: boolean
  /** The platform asked this lane to stay away for so long; 0 when it did not. */
  waitSeconds: number
}

interface Batch {
  destination: Destination
  isTest: boolean
  leaseEndsAt: Date
  claimed: Map<number, ClaimedDelivery>
  events: Map<string, StoredEvent>
}

/**
 * Delivers one batch of a lane: claim, look at each event again, send what may leave, settle. No
 * transaction is open while the platform answers. If this process dies on the way, the lease
 * brings the deliveries back; they go out again under the same id and time.
 */
export async function deliverLane(
  context: DeliveryContext,
  lane: Lane,
  onClaimed: (isFull: boolean) => void,
): Promise<LaneRun> {
  const { database, now, batchMax, leaseSeconds } = context
  const claimedAt = now()
  const leaseEndsAt = new Date(claimedAt.getTime() + leaseSeconds * 1_000)
  const limit = lane.isProbe ? 1 : batchMax
  const claimed = await claimDeliveries(database, { lane, limit, claimedAt, leaseEndsAt })
  const isFull = claimed.length === batchMax
  onClaimed(isFull)
  const first = claimed[0]
  if (!first) return { claimedCount: 0, isFull, waitSeconds: 0 }

  const destination = await findDestination(database, lane.trackerId, lane.destinationId)
  if (!destination) throw new Error(`destination ${lane.destinationId} is gone`)
  const batch: Batch = {
    destination,
    isTest: first.isTest,
    leaseEndsAt,
    claimed: new Map(claimed.map(delivery => [delivery.id, delivery])),
    events: await eventsOf(database, lane.trackerId, claimed),
  }
  const { settlements, sent } = await reviewAndSend(context, batch)
  const at = now()
  await settleDeliveries(database, { trackerId: lane.trackerId, leaseEndsAt, at, settlements })
  const waitSeconds = await updateLane(context, destination, sent)
  return { claimedCount: claimed.length, isFull, waitSeconds }
}

async function eventsOf(
  database: Database,
  trackerId: string,
  claimed: readonly ClaimedDelivery[],
): Promise<Map<string, StoredEvent>> {
  const ids = claimed.map(({ eventId }) => eventId)
  const events = await findEvents(database, trackerId, ids)
  return new Map(events.map(event => [event.eventId, event]))
}

async function reviewAndSend(
  context: DeliveryContext,
  batch: Batch,
): Promise<{ settlements: Settlement[]; sent: SentBatch }> {
  const { platform, now } = context
  const withdrawnAt = await withdrawalsOf(context.database, batch)
  const at = now()
  const reviews = [...batch.claimed.values()].map(delivery => {
    const event = batch.events.get(delivery.eventId)
    return reviewDelivery(delivery, {
      event,
      withdrawnAt: event ? withdrawnAt(event) : null,
      platform,
      at,
    })
  })
  const settlements = reviews.flatMap(({ settle }) => settle ?? [])
  const sendings = reviews.flatMap(({ send }) => send ?? [])
  if (sendings.length === 0) return { settlements, sent: { requests: [], unsent: [] } }

  const sent = await sendEvents(senderOf(context, batch), sendings)
  for (const request of sent.requests) {
    settlements.push(...(await keepAttempt(context, batch, request)))
  }
  const handBack = { reason: 'handed_back', error: null }
  for (const { id, event } of sent.unsent) {
    settlements.push({
      ...settleUnsent({ id, eventId: event.eventId }, 'queued', handBack),
      nextAttemptAt: at,
    })
  }
  return { settlements, sent }
}

function senderOf({ platform, credentialKey, now }: DeliveryContext, batch: Batch) {
  const { destination, isTest, leaseEndsAt } = batch
  return {
    platform,
    now,
    target: {
      datasetId: destination.datasetId,
      accessToken: openCredential(credentialKey, destination.id, destination.sealedCredential),
      testEventCode: isTest ? destination.testEventCode : null,
    },
    mayStart: () => now().getTime() + REQUEST_MILLISECONDS_MAX < leaseEndsAt.getTime(),
  }
}

async function withdrawalsOf(database: Database, { destination, events }: Batch) {
  const { trackerId } = destination
  const keys = new Set([...events.values()].flatMap(({ payload }) => visitorKeysOf(payload)))
  const visitors = [...keys].map(visitorId => ({ trackerId, visitorId }))
  const latest = await findWithdrawals(database, visitors)
  return ({ payload }: StoredEvent) => latest(trackerId, visitorKeysOf(payload))
}

/** Keeps the request and its answer, and says what the answer means for each event in it. */
async function keepAttempt(
  { database, platform, now, chance }: DeliveryContext,
  { destination, isTest, claimed, events }: Batch,
  { result, decided, ...request }: SentRequest,
): Promise<Settlement[]> {
  const attemptId = randomUUID()
  const { trackerId, id: destinationId } = destination
  await insertAttempt(database, {
    ...request,
    id: attemptId,
    trackerId,
    destinationId,
    isTest,
    result,
  })
  const at = now()
  return decided.map(({ id, event }) => {
    const stored = events.get(event.eventId)
    const attemptCount = claimed.get(id)?.attemptCount ?? 1
    const windowEndsAt = windowEnd(stored ?? event, platform)
    const delivery = { id, eventId: event.eventId, attemptCount, windowEndsAt }
    return settleByAnswer(delivery, result, { at, attemptId, chance: chance() })
  })
}

/** Pauses a lane that the platform refuses, resumes one that works again. */
async function updateLane(
  { database, now }: DeliveryContext,
  { trackerId, id: destinationId, status, failedProbes }: Destination,
  sent: SentBatch,
): Promise<number> {
  const verdict = laneVerdict(sent)
  const at = now()
  switch (verdict.kind) {
    case 'works':
      if (status === 'inactive') await resumeDestination(database, { trackerId, destinationId, at })
      return 0
    case 'refused': {
      const nextProbeAt = new Date(at.getTime() + probeWaitSeconds(failedProbes) * 1_000)
      const { reason } = verdict
      await pauseDestination(database, { trackerId, destinationId, reason, at, nextProbeAt })
      return 0
    }
    case 'throttled':
      return verdict.waitSeconds
    case 'unclear':
      return 0
  }
}
