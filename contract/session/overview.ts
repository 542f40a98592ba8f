import Type, { type Static } from 'typebox'
import { INTEGER_MAX, named, nullable, stringEnum, timestamp } from '../scalars.ts'
import { DestinationStatus } from './destinations.ts'

export const OVERVIEW_HOURS_MAX = 720

/** Hours up to now; 24 by default. */
export const OverviewQuery = Type.Object({
  hours: Type.Optional(Type.Integer({ minimum: 1, maximum: OVERVIEW_HOURS_MAX })),
})

/** The stages of an event, in the order in which it passes them. */
export const STAGES = [
  'refused',
  'accepted',
  'held',
  'waiting',
  'failed',
  'platform_accepted',
  'platform_counted',
] as const
export type StageName = (typeof STAGES)[number]

const count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: INTEGER_MAX, description })

const StageReason = named(
  'StageReason',
  Type.Object({ reason: Type.String(), count: count('Of the count.') }),
)

export const StageSummary = named(
  'StageSummary',
  Type.Object({
    stage: stringEnum(STAGES),
    unit: stringEnum(['requests', 'events', 'deliveries']),
    from: nullable(timestamp('The first hour that is counted; null for a count as of now.')),
    to: timestamp('The end of the last hour, or the time of the count.'),
    count: nullable(count('Null when nothing is known yet.')),
    is_minimum: Type.Boolean({ description: 'There may be more.' }),
    reasons: Type.Array(StageReason, { description: 'The most frequent first, at most 20.' }),
    hours: Type.Array(
      named(
        'StageHour',
        Type.Object({ hour: timestamp('Its start, UTC.'), count: count('In that hour.') }),
      ),
      { description: 'Hours with a count, oldest first.' },
    ),
  }),
)
export type StageSummary = Static<typeof StageSummary>

const OverviewAlert = named(
  'OverviewAlert',
  Type.Object({
    destination_id: nullable(Type.String({ description: 'Null if it is about the workspace.' })),
    kind: Type.String(),
    sentence: Type.String(),
    raised_at: timestamp('When it was raised.'),
  }),
)

const CountWithReasons = named(
  'CountWithReasons',
  Type.Object({
    count: count('Deliveries.'),
    reasons: Type.Array(StageReason, { description: 'The most frequent first, at most 20.' }),
  }),
)

const DestinationOverview = named(
  'DestinationOverview',
  Type.Object({
    status: DestinationStatus,
    platform: Type.String({ description: 'The name of its platform.' }),
    from: timestamp('The first UTC day that is counted.'),
    received: count(
      'Live deliveries that got a final status on these days, and those that wait now.',
    ),
    accepted: count('Those that the platform accepted.'),
    skipped: CountWithReasons,
    failed: CountWithReasons,
    reported: Type.Object({
      count: nullable(
        count('Events that the platform reports for whole UTC days; null: it reported nothing.'),
      ),
      explanation: nullable(
        Type.String({ description: 'Why the platform reported nothing for the last day.' }),
      ),
    }),
  }),
)
export type DestinationOverview = Static<typeof DestinationOverview>

export const TrackerOverview = named(
  'TrackerOverview',
  Type.Object({
    from: timestamp('The first hour.'),
    to: timestamp('The time of the answer.'),
    counted_since: nullable(
      timestamp('The first hour with a count of any stage by hour; null when there is none.'),
    ),
    stages: Type.Array(StageSummary, { description: 'All seven, in order.' }),
    destinations: Type.Array(DestinationOverview, { description: 'Oldest first.' }),
    alerts: Type.Array(OverviewAlert, { description: 'Open alerts, oldest first.' }),
    pending_approvals: count('Proposals of agents that wait for a decision, up to 100.'),
  }),
)
export type TrackerOverview = Static<typeof TrackerOverview>
