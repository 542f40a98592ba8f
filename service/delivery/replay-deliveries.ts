import {
  REPLAY_LIMIT_DEFAULT,
  type ReplayResult,
  ReplaySubmission,
} from '@signalbox/contract/replays.ts'
import type { Database } from '../db/database.ts'
import { bodyCheck } from '../http/checked-body.ts'
import { replayFailed } from './replay-store.ts'
import { WINDOW_MARGIN_SECONDS } from './review-delivery.ts'

const checkBody = bodyCheck<ReplaySubmission>(ReplaySubmission, ['event_name'])

export interface ReplayRequest {
  trackerId: string
  body: unknown
  at: Date
}

/**
 * replayDeliveries: queues what failed and may still go out. Throws a 422 refusal that names every
 * wrong field. The caller wakes the workers.
 */
export async function replayDeliveries(
  database: Database,
  { trackerId, body, at }: ReplayRequest,
): Promise<ReplayResult> {
  const { delivery_ids, event_name, limit } = checkBody(body)
  const { queued, expired, payloadExpired, isCapped } = await replayFailed(database, {
    trackerId,
    deliveryIds: delivery_ids ?? null,
    eventName: event_name ?? null,
    limit: limit ?? REPLAY_LIMIT_DEFAULT,
    at,
    windowEndsAfter: new Date(at.getTime() + WINDOW_MARGIN_SECONDS * 1_000),
  })
  return { queued, expired, payload_expired: payloadExpired, capped: isCapped }
}
