import { replayDeliveries, setDestinationTestMode } from '@signalbox/contract/operations.ts'
import {
  REPLAY_BYTES_MAX,
  REPLAY_LIMIT_DEFAULT,
  type ReplayResult,
  ReplaySubmission,
} from '@signalbox/contract/replays.ts'
import { liftWithdrawals, listWithdrawals } from '@signalbox/contract/withdrawals.ts'
import type { AuditedContext } from '../../audit/audit-store.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../../runtime/http/validator.ts'
import type { TrackerIdentity } from '../access/tracker-store.ts'
import { destinationView, isTestModeOn } from './destination-resource.ts'
import {
  type LiftContext,
  liftWithdrawalsOfPages,
  listWithdrawalsOfPages,
} from './lift-withdrawals.ts'
import { replaySelection } from './replay-deliveries.ts'
import { setTestMode, type TestModeContext } from './test-mode.ts'

export interface DeliveryRoutesContext extends TestModeContext, LiftContext {
  now: () => Date
  /** The destinations of a tracker changed, or the test mode of one. */
  onDestinationChanged: (trackerId: string) => void
  /** Deliveries became due. */
  onDeliveriesQueued: (trackerId: string) => void
}

export function deliveryRoutes(app: ServiceApp, context: DeliveryRoutesContext): void {
  const { now, onDestinationChanged, onDeliveriesQueued } = context

  app.route({
    ...setDestinationTestMode,
    async handler({ tracker, params, body }, reply) {
      const at = now()
      const { destination: destinationId } = readPathParameters(params, 'destination')
      const actor = { type: 'tracker', id: tracker.trackerId } as const
      const request = { tracker, destinationId, body, at, actor }
      const destination = await setTestMode(context, request)
      const { trackerId, workspaceId } = tracker
      onDestinationChanged(trackerId)
      return reply.code(200).send({
        destination: destinationView(destination, { workspaceId, at }),
        test_mode: isTestModeOn(destination, at),
      })
    },
  })

  app.route({
    ...replayDeliveries,
    bodyLimit: REPLAY_BYTES_MAX,
    async handler({ tracker, body }, reply) {
      const result = await replayFailedDeliveries(context, { tracker, body, at: now() })
      if (result.queued > 0) onDeliveriesQueued(tracker.trackerId)
      return reply.code(200).send(result)
    },
  })
}

/** What a shop does about withdrawals that pages sent. */
export function withdrawalRoutes(app: ServiceApp, context: DeliveryRoutesContext): void {
  app.route({
    ...listWithdrawals,
    handler: ({ tracker, query }) =>
      listWithdrawalsOfPages(context.database, tracker.trackerId, query),
  })

  app.route({
    ...liftWithdrawals,
    async handler({ tracker, body }, reply) {
      const actor = { type: 'tracker', id: tracker.trackerId } as const
      const result = await liftWithdrawalsOfPages(context, { tracker, actor, body })
      if (result.queued > 0) context.onDeliveriesQueued(tracker.trackerId)
      return reply.code(200).send(result)
    },
  })
}

const replayValidator = new Validator(ReplaySubmission, { textMembers: ['event_name'] })

interface ReplayCall {
  tracker: TrackerIdentity
  body: unknown
  at: Date
}

/**
 * Queues failed deliveries that can still be sent. Every request is audited, even one that found
 * nothing. Throws a 422 refusal that names every invalid field. The caller wakes the workers.
 */
async function replayFailedDeliveries(
  context: AuditedContext,
  { tracker, body, at }: ReplayCall,
): Promise<ReplayResult> {
  const { delivery_ids, event_name, limit } = replayValidator.validate(body)
  const { queued, expired, payloadExpired, isCapped } = await replaySelection(context, {
    tracker,
    actor: { type: 'tracker', id: tracker.trackerId },
    selection: {
      trackerId: tracker.trackerId,
      deliveryIds: delivery_ids ?? null,
      eventName: event_name ?? null,
      limit: limit ?? REPLAY_LIMIT_DEFAULT,
    },
    at,
  })
  return { queued, expired, payload_expired: payloadExpired, capped: isCapped }
}
