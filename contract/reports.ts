import Type, { type Static } from 'typebox'
import { Destination } from './destinations.ts'
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

export const ReconciliationReport = named(
  'ReconciliationReport',
  Type.Object({
    id: Type.Integer({ minimum: 1, maximum: INTEGER_MAX }),
    workspace_id: Type.Integer({ minimum: 1, maximum: INTEGER_MAX }),
    signal_tracker_id: Type.String(),
    destination_id: Type.String(),
    report_date: Type.String({ format: 'date', description: 'UTC day.' }),
    accepted_count: Type.Integer({ description: 'Events that the platform accepted from us.' }),
    meta_count: Type.Integer({ description: 'Events that the platform reports.' }),
    observed_gap: Type.Integer({ description: 'accepted_count minus meta_count.' }),
    event_counts: named(
      'EventCounts',
      Type.Object({
        accepted: countsByName('Event name -> events accepted from us.'),
        meta: countsByName('Event name -> events that the platform reports.'),
      }),
    ),
    buckets: Type.Unsafe<Record<string, ReconciliationBucket>>({
      type: 'object',
      additionalProperties: ReconciliationBucket,
      description: `What explains the gap: ${BUCKET_NAMES.join(', ')}.`,
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
      description: 'The score fell by 1.0 or more within that week, or is below 4.0.',
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
