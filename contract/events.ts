import Type, { type Static } from 'typebox'
import { Delivery, ExplainedDelivery } from './deliveries.ts'
import { EventOrder } from './orders.ts'
import { freeForm, INTEGER_MAX, named, nullable, stringEnum, timestamp } from './scalars.ts'

export const EVENT_CLASSES = ['conversion', 'lifecycle', 'verification', 'test'] as const
export type EventClass = (typeof EVENT_CLASSES)[number]

export const MEASUREMENT_CLASSES = ['advertising', 'modeled', 'ledger_only'] as const
export type MeasurementClass = (typeof MEASUREMENT_CLASSES)[number]

export const CONSENT_BASES = ['consent', 'legitimate_interest'] as const
export type ConsentBasis = (typeof CONSENT_BASES)[number]

export const ATTRIBUTION_JOINS = ['allowed', 'none'] as const
export type AttributionJoin = (typeof ATTRIBUTION_JOINS)[number]

export const ENFORCEMENT_SCOPES = ['event', 'ledger'] as const
export type EnforcementScope = (typeof ENFORCEMENT_SCOPES)[number]

/** The query of the read of one event. */
export const EventSpaceQuery = Type.Object({
  space: Type.Optional(
    stringEnum(['secret', 'publishable'], {
      description:
        'Whether the id is of an event sent with the tracker secret or with a publishable ' +
        "key. By default, the tracker secret's event is read, or else the publishable key's.",
    }),
  ),
})

const eventMembers = {
  id: Type.String({ maxLength: 128 }),
  workspace_id: Type.Integer({ minimum: 1, maximum: INTEGER_MAX }),
  signal_tracker_id: Type.String({
    description: 'In the single-event read a deprecated alias of workspace_id (decimal string).',
  }),
  parent_event_id: nullable(Type.String()),
  event_name: Type.String(),
  event_time: timestamp('When it happened.'),
  action_source: Type.String(),
  event_class: named('EventClass', stringEnum(EVENT_CLASSES)),
  order_id: nullable(Type.String()),
  value_amount: nullable(
    Type.Number({
      format: 'double',
      description: 'Major units, with exactly the digits that were sent.',
    }),
  ),
  value_currency: nullable(Type.String()),
  created_at: timestamp('When it was stored.'),
  consent_basis: named('ConsentBasis', stringEnum(CONSENT_BASES)),
  measurement_class: named('MeasurementClass', stringEnum(MEASUREMENT_CLASSES)),
  attribution_join: named('AttributionJoin', stringEnum(ATTRIBUTION_JOINS)),
  enforcement_scope: named('EnforcementScope', stringEnum(ENFORCEMENT_SCOPES)),
  consent_normalization_version: Type.String(),
  consent: nullable(freeForm('The state supplied with the event, and our decision on it.')),
  user_data_hashed: nullable(freeForm('Identity as digests. Empty once the payload expired.')),
  click_ids: nullable(freeForm('Advertising click identifiers.')),
  session: nullable(
    freeForm(
      "The visitor's session record. `click_conflict` is present when a page named another click " +
        'or browser ID, which is ignored: `tracker_secret_used` or `first_page_used`.',
    ),
  ),
  value_data: nullable(freeForm('Commerce data as it was sent.')),
  event_source: nullable(Type.String()),
  payload_expired: Type.Boolean(),
}

export const LineageEvent = named('LineageEvent', Type.Object(eventMembers))
export type LineageEvent = Static<typeof LineageEvent>

export const Event = named(
  'Event',
  Type.Object({ ...eventMembers, deliveries: Type.Array(Delivery) }),
)
export type Event = Static<typeof Event>

export const EventDetail = named(
  'EventDetail',
  Type.Object({
    event: Event,
    lineage: named(
      'Lineage',
      Type.Object({ parent: nullable(LineageEvent), children: Type.Array(LineageEvent) }),
    ),
    order: nullable(EventOrder),
    deliveries: Type.Array(ExplainedDelivery),
  }),
)
export type EventDetail = Static<typeof EventDetail>
