import Type, { type Static } from 'typebox'
import {
  deliveryId,
  freeForm,
  INTEGER_MAX,
  named,
  nullable,
  stringEnum,
  timestamp,
} from './scalars.ts'

/** Closed set; `docs/states.md` has the transitions. */
export const DELIVERY_STATUSES = [
  'queued',
  'sent',
  'accepted',
  'retrying',
  'failed:auth',
  'failed:permanent',
  'failed:unknown',
  'expired',
  'skipped:consent',
  'skipped:no_destination',
  'skipped:duplicate',
  'skipped:not_selected',
] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

const deliveryMembers = {
  id: deliveryId(),
  workspace_id: Type.Integer({ minimum: 1, maximum: INTEGER_MAX }),
  signal_tracker_id: Type.String(),
  event_id: Type.String(),
  destination_id: nullable(Type.String()),
  status: named('DeliveryStatus', stringEnum(DELIVERY_STATUSES)),
  is_test: Type.Boolean(),
  attempt_count: Type.Integer({ minimum: 0 }),
  last_error: nullable(freeForm('The last response of the platform, or the last network error.')),
  platform_response: nullable(
    freeForm(
      "The platform's last response, without secrets; `attempts` lists the requests that sent " +
        'the event, the oldest first, at most twenty.',
    ),
  ),
  platform_trace_id: nullable(
    Type.String({ description: 'For the support team of the platform.' }),
  ),
  next_attempt_at: nullable(timestamp('The time of the next attempt; null if none is planned.')),
  created_at: timestamp('When the delivery was planned.'),
  updated_at: nullable(timestamp('When the status last changed.')),
}

export const Delivery = named('Delivery', Type.Object(deliveryMembers))
export type Delivery = Static<typeof Delivery>

export const ExplainedDelivery = named(
  'ExplainedDelivery',
  Type.Object({
    ...deliveryMembers,
    platform: nullable(
      Type.String({ description: 'The `type` of the destination; null without one.' }),
    ),
    explanation: Type.String({ description: 'What happened, why, and what happens next.' }),
  }),
)
export type ExplainedDelivery = Static<typeof ExplainedDelivery>
