import Type, { type Static } from 'typebox'
import { DELIVERY_STATUSES } from './deliveries.ts'
import { Destination } from './destinations.ts'
import { REPORT_CAUSES } from './reasons.ts'
import {
  described,
  freeForm,
  INTEGER_MAX,
  named,
  nullable,
  stringEnum,
  timestamp,
} from './scalars.ts'

/** What explains a part of the gap between our count and the platform's. */
export const BUCKET_NAMES = [
  'test_events',
  'pending',
  'late_event_time',
  'unknown_outcome',
  'platform_deduplicated',
  'other_senders',
] as const

/** With what only the results of requests tell: events that were taken and refused later. */
export const ALL_BUCKET_NAMES = [...BUCKET_NAMES, 'platform_refused'] as const

export const REPORT_STATUSES = [
  'matched',
  'explained',
  'unexplained',
  'pending',
  'unavailable',
] as const
export type ReportStatus = (typeof REPORT_STATUSES)[number]

export const ReconciliationBucket = named(
  'ReconciliationBucket',
  Type.Object({
    count: Type.Integer({
      description: 'Events; negative if the platform counted more than we did.',
    }),
    basis: stringEnum(['measured', 'estimated'], {
      description: 'Counted, or derived from counts.',
    }),
    explanation: Type.String({ description: 'For a person.' }),
  }),
)
export type ReconciliationBucket = Static<typeof ReconciliationBucket>

const CountsByEventName = named(
  'CountsByEventName',
  Type.Unsafe<Record<string, number>>({
    type: 'object',
    additionalProperties: { type: 'integer' },
  }),
)
const countsByName = (description: string) => described(CountsByEventName, description)

/**
 * Where the platform's count comes from: its report of the day, or the results of our requests,
 * which it tells later and in counts.
 */
export const COUNT_SOURCES = ['day_report', 'request_results'] as const
export type CountSourceKind = (typeof COUNT_SOURCES)[number]

export const PlatformCount = named(
  'PlatformCount',
  Type.Object({
    source: stringEnum(COUNT_SOURCES, {
      description: "The platform's report of the day, or the results of our requests.",
    }),
    platform: Type.String({ description: 'Its name for people.' }),
    label: Type.String({ description: "The platform's words for what it counts." }),
    meaning: Type.String({ description: 'What it counts, what it never tells, where to see it.' }),
  }),
)
export type PlatformCount = Static<typeof PlatformCount>

export const SkippedOutcome = named(
  'DestinationOutcome',
  Type.Object({
    status: stringEnum(DELIVERY_STATUSES),
    reason: Type.String({ description: 'Why, as in the deliveries.' }),
    count: Type.Integer({ description: 'Deliveries that got the status on this UTC day.' }),
    explanation: Type.String({ description: 'For a person.' }),
  }),
)

const ReasonCount = named(
  'ReasonCount',
  Type.Object({
    reason: Type.String({ description: "The platform's own code." }),
    count: Type.Integer({ description: 'Events.' }),
  }),
)

export const RequestResults = named(
  'RequestResults',
  Type.Object({
    requests: Type.Integer({ description: 'Requests that the platform took on the day.' }),
    events: Type.Integer({ description: 'Their events.' }),
    processed_events: Type.Integer({ description: 'Those that it says it processed.' }),
    processing_events: Type.Integer({ description: 'Those of requests without a result yet.' }),
    unknown_events: Type.Integer({ description: 'Those of requests whose result it never told.' }),
    failed_events: Type.Integer({ description: 'Those of requests that failed as a whole.' }),
    refusals: Type.Array(ReasonCount, { description: 'The largest first, at most 50.' }),
  }),
)
export type RequestResults = Static<typeof RequestResults>

const amount = Type.String({ description: 'Exact decimal text.' })

export const ReportedValues = named(
  'ValueReconciliation',
  Type.Object({
    accepted: Type.Array(
      named(
        'AcceptedValue',
        Type.Object({
          event_name: Type.String({ description: "The platform's name of the event." }),
          currency: Type.String(),
          events: Type.Integer({ description: 'Accepted events that have a value.' }),
          amount,
        }),
      ),
      { description: 'The sum of what the platform accepted on the day.' },
    ),
    reported: nullable(
      Type.Array(named('ReportedValue', Type.Object({ currency: Type.String(), amount })), {
        description: 'The values that the platform reports; null if it reports none.',
      }),
    ),
    explanation: Type.String({ description: 'For a person.' }),
  }),
)

/** `CausePermission`: the contract has a schema `Permission`. */
function toConstant(cause: string): string {
  const words = cause.split('_').map(word => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
  return `Cause${words.join('')}`
}

export const ReconciliationReport = named(
  'ReconciliationReport',
  Type.Object({
    id: Type.Integer({ minimum: 1, maximum: INTEGER_MAX }),
    workspace_id: Type.Integer({ minimum: 1, maximum: INTEGER_MAX }),
    signal_tracker_id: Type.String(),
    destination_id: Type.String(),
    report_date: Type.String({ format: 'date', description: 'UTC day.' }),
    accepted_count: Type.Integer({ description: 'Events that the platform accepted from us.' }),
    meta_count: Type.Integer({
      description:
        'Events that the platform reports. With the status `unavailable` it is 0 and no count: ' +
        'see `unavailable`.',
    }),
    observed_gap: Type.Integer({ description: 'accepted_count minus meta_count.' }),
    count_source: nullable(
      described(PlatformCount, "The platform's words for its count; null in old reports."),
    ),
    unavailable: nullable(
      named(
        'UnavailableCount',
        Type.Object({
          cause: stringEnum(REPORT_CAUSES, { 'x-enum-varnames': REPORT_CAUSES.map(toConstant) }),
          sentence: Type.String({ description: 'Why there is no count, for a person.' }),
        }),
      ),
    ),
    sent_names: Type.Array(
      named(
        'SentName',
        Type.Object({
          event_name: Type.String(),
          platform_name: Type.String({ description: 'Under which it is sent and counted.' }),
        }),
      ),
      { description: "Events that the destination's map renames." },
    ),
    outcomes: Type.Array(SkippedOutcome, {
      description: 'Live deliveries of this destination that were not accepted, the most first.',
    }),
    requests: nullable(
      described(RequestResults, 'For platforms that tell the results of requests only.'),
    ),
    values: nullable(described(ReportedValues, 'By currency; null in old reports.')),
    event_counts: named(
      'EventCounts',
      Type.Object({
        accepted: countsByName('Event name -> events accepted from us.'),
        meta: countsByName(
          'Event name -> events that the platform reports; empty if it tells no names.',
        ),
      }),
    ),
    buckets: Type.Unsafe<Record<string, ReconciliationBucket>>({
      type: 'object',
      additionalProperties: ReconciliationBucket,
      description: `What explains the gap: ${ALL_BUCKET_NAMES.join(', ')}.`,
    }),
    unexplained_residual: Type.Integer({ description: 'The gap minus the sum of the buckets.' }),
    status: stringEnum(REPORT_STATUSES),
    created_at: nullable(timestamp('When it was created.')),
    updated_at: nullable(timestamp('When it was last updated.')),
    destination: Destination,
  }),
)
export type ReconciliationReport = Static<typeof ReconciliationReport>

export const ReconciliationReports = named(
  'ReconciliationReports',
  Type.Object({
    date: Type.String({ format: 'date' }),
    reports: Type.Array(ReconciliationReport),
  }),
)

export const EmqSnapshot = named(
  'EmqSnapshot',
  Type.Object({
    id: Type.Integer({ minimum: 1, maximum: INTEGER_MAX }),
    workspace_id: Type.Integer({ minimum: 1, maximum: INTEGER_MAX }),
    signal_tracker_id: Type.String(),
    destination_id: Type.String(),
    score: Type.Number({
      format: 'double',
      description:
        "Event match quality, 0 to 10: the platform's score of Purchase, or else the mean of all " +
        'event names, weighted by their events.',
    }),
    week_over_week_change: nullable(
      Type.Number({
        format: 'double',
        description:
          'Change since the snapshot closest to 7 days before (6 to 8); null if there is none.',
      }),
    ),
    alerted: Type.Boolean({
      description:
        'The score fell by 1.0 or more within that week, or is below 4.0; or by the ' +
        'thresholds of the workspace.',
    }),
    platform_response: nullable(
      freeForm(
        "The platform's complete response. We add the member `signalbox`, about what the platform" +
          ' accepted from us on the UTC days `from` to `until`: `coverage` is a list of ' +
          '`event_name`, `events` and `keys` (match key -> percent of these events that carried ' +
          'it); `advice` a list of `event_name`, `key`, `kind` (`send_more` or ' +
          '`lost_on_the_way`), `sentence` and `possible_gain_percent`, which may be null. Null ' +
          'in old snapshots when all responses together exceed 8 MB.',
      ),
    ),
    measured_at: timestamp('When the platform was queried.'),
    created_at: nullable(timestamp('When it was stored.')),
    updated_at: nullable(timestamp('When it last changed.')),
  }),
)
export type EmqSnapshot = Static<typeof EmqSnapshot>

export const EmqReport = named('EmqReport', Type.Object({ snapshots: Type.Array(EmqSnapshot) }))
