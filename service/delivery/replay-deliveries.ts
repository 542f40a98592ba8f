import {
  REPLAY_LIMIT_DEFAULT,
  type ReplayResult,
  ReplaySubmission,
} from '@signalbox/contract/replays.ts'
import type { TrackerIdentity } from '../access/store.ts'
import type { AuditEntry } from '../agents/audit/audit-entry.ts'
import type { AuditTrail } from '../agents/audit/audit-trail.ts'
import type { Database } from '../db/database.ts'
import { isOfCluster } from '../db/distribute-tables.ts'
import { bodyCheck } from '../http/checked-body.ts'
import { type Replay, type ReplayCounts, replayFailed } from './replay-store.ts'
import { WINDOW_MARGIN_SECONDS } from './review-delivery.ts'

const checkBody = bodyCheck<ReplaySubmission>(ReplaySubmission, ['event_name'])

export interface ReplayScope {
  database: Database
  audit: AuditTrail
}

export interface ReplayRequest {
  tracker: TrackerIdentity
  body: unknown
  at: Date
}

/**
 * replayDeliveries: queues what failed and may still go out. Every request that was carried out is
 * written down, also one that found nothing. Throws a 422 refusal that names every wrong field. The
 * caller wakes the workers.
 */
export async function replayDeliveries(
  { database, audit }: ReplayScope,
  { tracker, body, at }: ReplayRequest,
): Promise<ReplayResult> {
  const { delivery_ids, event_name, limit } = checkBody(body)
  const replay: Replay = {
    trackerId: tracker.trackerId,
    deliveryIds: delivery_ids ?? null,
    eventName: event_name ?? null,
    limit: limit ?? REPLAY_LIMIT_DEFAULT,
    at,
    windowEndsAfter: new Date(at.getTime() + WINDOW_MARGIN_SECONDS * 1_000),
  }
  const isCluster = await isOfCluster(database)
  const { queued, expired, payloadExpired, isCapped } = await database.query
    .transaction()
    .execute(async query => {
      const counts = await replayFailed({ query }, replay, { isCluster })
      await audit.append({ query }, replayEntry(tracker, replay, counts))
      return counts
    })
  return { queued, expired, payload_expired: payloadExpired, capped: isCapped }
}

function replayEntry(
  { trackerId, workspaceId }: TrackerIdentity,
  { deliveryIds, eventName, limit, at }: Replay,
  { queued, expired, payloadExpired, isCapped }: ReplayCounts,
): AuditEntry {
  const foundCount = queued + expired + payloadExpired
  return {
    workspaceId,
    at,
    actor: { type: 'tracker', id: trackerId },
    action: 'deliveries.replayed',
    subject: { type: 'tracker', id: trackerId },
    details: {
      queued,
      expired,
      payload_expired: payloadExpired,
      capped: isCapped,
      limit,
      delivery_ids: deliveryIds?.length ?? null,
      // Whatever names no event of the ledger is free text, which the log never holds.
      event_name: foundCount > 0 ? eventName : null,
    },
  }
}
