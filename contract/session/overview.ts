import Type, { type Static } from 'typebox'
import { INTEGER_MAX, named, nullable, stringEnum, timestamp } from '../scalars.ts'

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

export const StageSummary = named(
  'StageSummary',
  Type.Object({
    stage: stringEnum(STAGES),
    unit: stringEnum(['requests', 'events', 'deliveries']),
    from: nullable(timestamp('The first hour that is counted; null for a count as of now.')),
    to: timestamp('The end of the last hour, or the time of the count.'),
    count: nullable(count('Null when nothing is known yet.')),
    is_minimum: Type.Boolean({ description: 'There may be more.' }),
    reasons: Type.Array(
      named('StageReason', Type.Object({ reason: Type.String(), count: count('Of the count.') })),
      { description: 'The most frequent first, at most 20.' },
    ),
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

export const TrackerOverview = named(
  'TrackerOverview',
  Type.Object({
    from: timestamp('The first hour.'),
    to: timestamp('The time of the answer.'),
    counted_since: nullable(
      timestamp('The first hour with a count of any stage by hour; null when there is none.'),
    ),
    stages: Type.Array(StageSummary, { description: 'All seven, in order.' }),
    alerts: Type.Array(OverviewAlert, { description: 'Open alerts, oldest first.' }),
    pending_approvals: count('Proposals of agents that wait for a decision, up to 100.'),
  }),
)
export type TrackerOverview = Static<typeof TrackerOverview>
