import Type, { type Static } from 'typebox'
import { INTEGER_MAX, named, nullable, stringEnum, timestamp } from '../scalars.ts'
import { DestinationStatus } from './destinations.ts'

const count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: INTEGER_MAX, description })

const StageReason = named(
  'StageReason',
  Type.Object({ reason: Type.String(), count: count('Of the count.') }),
)

const OverviewAlert = named(
  'OverviewAlert',
  Type.Object({
    destination_id: nullable(Type.String({ description: 'Null if it is about the workspace.' })),
    kind: Type.String(),
    sentence: Type.String(),
    raised_at: timestamp('When it was raised.'),
  }),
)

const DestinationOverview = named(
  'DestinationOverview',
  Type.Object({
    status: DestinationStatus,
    platform: Type.String({ description: 'The name of its platform.' }),
  }),
)

export const TrackerOverview = named(
  'TrackerOverview',
  Type.Object({
    has_events: Type.Boolean({ description: 'Whether it ever got an event, stored or refused.' }),
    destinations: Type.Array(DestinationOverview, { description: 'Oldest first.' }),
    alerts: Type.Array(OverviewAlert, { description: 'Open alerts, oldest first.' }),
    pending_approvals: count('Proposals of agents that wait for a decision, up to 100.'),
  }),
)
export type TrackerOverview = Static<typeof TrackerOverview>

/** The longest range of a flow, and how far back it may begin. */
export const FLOW_DAYS_MAX = 92

/** UTC days, both included; the last seven by default. */
export const FlowQuery = Type.Object({
  from: Type.Optional(Type.String({ description: 'UTC day.' })),
  to: Type.Optional(Type.String({ description: 'UTC day, today by default.' })),
  by: Type.Optional(
    stringEnum(['event', 'receipt'], {
      description: 'The day that decides: of the event (default), or of its receipt.',
    }),
  ),
})

/** Where the deliveries of stored events are, each in exactly one. */
export const FLOW_OUTCOMES = ['accepted', 'waiting', 'failed', 'held', 'skipped', 'test'] as const
export type FlowOutcome = (typeof FLOW_OUTCOMES)[number]

const day = (description: string) => Type.String({ format: 'date', description })

const FlowValue = named(
  'FlowValue',
  Type.Object({
    currency: Type.String(),
    amount: Type.String({ description: 'The exact sum, as decimal text.' }),
  }),
)
export type FlowValue = Static<typeof FlowValue>

const counted = {
  count: count('Of these.'),
  values: Type.Array(FlowValue, { description: 'By currency, of those with a value.' }),
}

/** The deliveries of one event name to one destination, with one outcome. */
export const FlowBand = named(
  'FlowBand',
  Type.Object({
    destination_id: nullable(Type.String({ description: 'Null: there was no destination.' })),
    event_name: Type.String(),
    outcome: stringEnum(FLOW_OUTCOMES),
    ...counted,
    reasons: Type.Array(StageReason, { description: 'The most frequent first, at most 20.' }),
  }),
)
export type FlowBand = Static<typeof FlowBand>

const FlowEventName = named('FlowEventName', Type.Object({ event_name: Type.String(), ...counted }))

const FlowCounted = named(
  'FlowCounted',
  Type.Object({
    destination_id: Type.String(),
    days: count('Days of the range that the platform reported.'),
    total: count('Events that it reported for them.'),
    event_names: Type.Array(
      named(
        'FlowCountedName',
        Type.Object({ event_name: Type.String(), count: count('Of this name.') }),
      ),
    ),
    explanation: nullable(Type.String({ description: 'Why the last day has no report.' })),
  }),
)
export type FlowCounted = Static<typeof FlowCounted>

const FlowDelay = named(
  'FlowDelay',
  Type.Object({
    destination_id: Type.String(),
    count: count('Accepted deliveries.'),
    p50_seconds: Type.Number({ description: 'From receipt to acceptance, at most 41 % too high.' }),
    p99_seconds: Type.Number({ description: 'From receipt to acceptance, at most 41 % too high.' }),
  }),
)

const FlowDay = named(
  'FlowDay',
  Type.Object({
    day: day('The UTC day.'),
    events: count('Stored events.'),
    accepted: count('Deliveries.'),
    waiting: count('Deliveries.'),
    failed: count('Deliveries.'),
    held: count('Deliveries.'),
    skipped: count('Deliveries.'),
    test: count('Deliveries.'),
  }),
)
export type FlowDay = Static<typeof FlowDay>

const FlowChange = named(
  'FlowChange',
  Type.Object({
    destination_id: nullable(Type.String({ description: 'Null for stored events.' })),
    event_name: Type.String(),
    measure: stringEnum(['stored', 'accepted', 'failed']),
    before: count('On the day before.'),
    after: count('On the day.'),
  }),
)

/** What happened to events, in bands: each stored event has one delivery for each destination. */
export const EventFlow = named(
  'EventFlow',
  Type.Object({
    by: stringEnum(['event', 'receipt']),
    from: day('The first UTC day.'),
    to: day('The last UTC day.'),
    counted_at: timestamp('The time of the answer.'),
    refused: Type.Object({
      requests: count('Refused requests that arrived on these days. They have no other day.'),
      reasons: Type.Array(StageReason),
    }),
    stored: Type.Array(FlowEventName, { description: 'Stored events, the most frequent first.' }),
    uncounted: count(
      'Stored events that were received since the last count of a large day; by the day of the ' +
        'event, they may belong to another day.',
    ),
    bands: Type.Array(FlowBand, { description: 'The largest first.' }),
    counted: Type.Array(FlowCounted, {
      description: "By the platforms' reports, which are by the UTC day of the event.",
    }),
    delays: Type.Array(FlowDelay),
    days: Type.Array(FlowDay, { description: 'The range and the week before it, oldest first.' }),
    changes_day: day('The last whole day of the range, which `changes` compare.'),
    changes: Type.Array(FlowChange, { description: 'The largest first, at most six.' }),
  }),
)
export type EventFlow = Static<typeof EventFlow>
