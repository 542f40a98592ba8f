import Type, { type Static } from 'typebox'
import { Delivery, ExplainedDelivery } from './deliveries.ts'
import { freeForm, INTEGER_MAX, named, nullable, timestamp } from './scalars.ts'

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
  event_class: Type.Unsafe<EventClass>({
    type: 'string',
    enum: ['conversion', 'lifecycle', 'verification', 'test'],
  }),
  order_id: nullable(Type.String()),
  value_amount: nullable(
    Type.Number({ description: 'Major units, with exactly the digits that were sent.' }),
  ),
  value_currency: nullable(Type.String()),
  created_at: timestamp('When it was stored.'),
  consent_basis: Type.Unsafe<'consent' | 'legitimate_interest'>({
    type: 'string',
    enum: ['consent', 'legitimate_interest'],
  }),
  measurement_class: Type.Unsafe<MeasurementClass>({
    type: 'string',
    enum: ['advertising', 'modeled', 'ledger_only'],
  }),
  attribution_join: Type.Unsafe<'allowed' | 'none'>({ type: 'string', enum: ['allowed', 'none'] }),
  enforcement_scope: Type.Unsafe<'event' | 'ledger'>({ type: 'string', enum: ['event', 'ledger'] }),
  consent_normalization_version: Type.String(),
  consent: nullable(freeForm('The state supplied with the event, and our decision on it.')),
  user_data_hashed: nullable(freeForm('Identity as digests. Empty once the payload expired.')),
  click_ids: nullable(freeForm('Advertising click identifiers.')),
  session: nullable(freeForm("The visitor's session record.")),
  value_data: nullable(freeForm('Commerce data as it was sent.')),
  event_source: nullable(Type.String()),
  payload_expired: Type.Boolean(),
}

export type EventClass = 'conversion' | 'lifecycle' | 'verification' | 'test'
export type MeasurementClass = 'advertising' | 'modeled' | 'ledger_only'

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
    deliveries: Type.Array(ExplainedDelivery),
  }),
)
export type EventDetail = Static<typeof EventDetail>
