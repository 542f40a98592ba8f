import Type, { type Static } from 'typebox'
import { Destination } from '../destinations.ts'
import { ReconciliationReport } from '../reports.ts'
import { named, nullable, stringEnum, timestamp } from '../scalars.ts'

const day = (description: string) => Type.String({ format: 'date', description })
/** UTC days, both included; an empty one counts as left out. */
export const DayRangeQuery = Type.Object({
  to: Type.Optional(Type.String({ description: 'UTC day, today by default.' })),
  from: Type.Optional(Type.String({ description: 'UTC day, by default 29 days before `to`.' })),
})

/** The day and destination of a report that is made now. */
export const ReportToMake = Type.Object({
  date: Type.String({ format: 'date', description: 'UTC day, at most 92 days ago.' }),
  destination_id: Type.String({ format: 'uuid' }),
})
export type ReportToMake = Static<typeof ReportToMake>

const score = (description: string) => Type.Number({ format: 'double', description })

const MatchScore = named(
  'MatchScore',
  Type.Object({
    date: day('The UTC day on which the platform was queried.'),
    score: score('0 to 10.'),
    week_over_week_change: nullable(Type.Number({ format: 'double' })),
    alerted: Type.Boolean({ description: 'Fell by 1.0 or more within a week, or is low.' }),
  }),
)

const MatchCoverage = named(
  'MatchCoverage',
  Type.Object({
    event_name: Type.String(),
    events: Type.Integer({ description: 'Events that the platform accepted from us.' }),
    keys: Type.Unsafe<Record<string, number>>({
      type: 'object',
      additionalProperties: { type: 'number' },
      description: 'Match key -> percentage of these events that have it.',
    }),
  }),
)
export type MatchCoverage = Static<typeof MatchCoverage>

const MatchAdvice = named(
  'MatchAdvice',
  Type.Object({
    event_name: Type.String(),
    key: Type.String({ description: 'The match key to improve.' }),
    kind: stringEnum(['send_more', 'lost_on_the_way']),
    sentence: Type.String({ description: 'What to do.' }),
    possible_gain_percent: nullable(
      Type.Number({ description: 'More matched conversions, as the platform estimates it.' }),
    ),
  }),
)
export type MatchAdvice = Static<typeof MatchAdvice>

export const MatchQualityReport = named(
  'MatchQualityReport',
  Type.Object({
    from: day('The first UTC day of the range.'),
    to: day('The last UTC day of the range.'),
    alert_below: score('A score below it raises an alert.'),
    destinations: Type.Array(
      named(
        'DestinationMatchQuality',
        Type.Object({
          destination: Destination,
          trend: Type.Array(MatchScore, { description: 'Oldest first.' }),
          measured_at: nullable(Type.String({ format: 'date-time' })),
          coverage: Type.Array(MatchCoverage, {
            description: 'Of the seven days up to `to`, counted now: from the first event on.',
          }),
          advice: Type.Array(MatchAdvice, {
            description:
              'What to send more often, by this coverage, and what was lost on the way, by the ' +
              'newest score. Best first.',
          }),
          unavailable: nullable(
            named(
              'UnavailableMatchQuality',
              Type.Object({
                sentence: Type.String({ description: 'Why the last query gave no score.' }),
                next_read_at: timestamp('When it is queried again.'),
              }),
            ),
          ),
        }),
      ),
    ),
  }),
)
export type MatchQualityReport = Static<typeof MatchQualityReport>

export const ReconciliationRange = named(
  'ReconciliationRange',
  Type.Object({
    from: day('The first UTC day of the range.'),
    to: day('The last UTC day of the range.'),
    reports: Type.Array(ReconciliationReport, {
      description: 'One for each day and destination, newest day first.',
    }),
    next_cursor: nullable(
      Type.String({ description: '`?cursor=` for older days; null on the last page.' }),
    ),
  }),
)
export type ReconciliationRange = Static<typeof ReconciliationRange>
