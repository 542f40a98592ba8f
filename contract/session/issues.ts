import Type, { type Static } from 'typebox'
import { FAILURE_CLASSES } from '../reasons.ts'
import { REFUSAL_RULES, type RefusalRule } from '../refusal-rules.ts'
import { INTEGER_MAX, named, nullable, stringEnum, timestamp } from '../scalars.ts'
import { EVENT_ID_CHARACTERS_MAX } from '../submissions.ts'

/** How long refusals and the causes of failures are kept. */
export const REFUSAL_DAYS = 30
export const ISSUE_DAYS = 30
/** The latest withdrawals of pages in the period are looked at, at most so many. */
export const COUNTED_WITHDRAWALS_MAX = 10_000

const count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: INTEGER_MAX, description })

/** Days up to now; 7 by default. */
export const IssueQuery = Type.Object({
  days: Type.Optional(Type.Integer({ minimum: 1, maximum: ISSUE_DAYS })),
})

export const RefusalQuery = Type.Object({
  days: Type.Optional(Type.Integer({ minimum: 1, maximum: REFUSAL_DAYS })),
  event_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: EVENT_ID_CHARACTERS_MAX,
      description: 'The refusals of this event ID, of all days that are kept.',
    }),
  ),
})

/** What a person decided; `open` without a decision, or when a resolved one happened again. */
export const ISSUE_STATES = ['open', 'muted', 'resolved'] as const
export type IssueStateName = (typeof ISSUE_STATES)[number]

const ISSUE_PROPERTIES = {
  id: Type.String({ description: 'Names the cause in `changeIssue`; the same every time.' }),
  state: stringEnum(ISSUE_STATES),
  reopened: Type.Boolean({ description: 'It was resolved, and happened again after that.' }),
  decided_at: nullable(timestamp('When a person muted or resolved it.')),
  days: Type.Array(
    named(
      'IssueDay',
      Type.Object({ date: Type.String({ format: 'date' }), count: count('On this UTC day.') }),
    ),
    { description: 'Oldest first; days without any are left out.' },
  ),
} as const

const StakeValue = named(
  'StakeValue',
  Type.Object({
    currency: Type.String(),
    amount: Type.String({ description: 'Exact decimal text.' }),
    events: count('Events with a value in this currency.'),
  }),
)

export const IssueChange = Type.Object({ state: stringEnum(ISSUE_STATES) })
export type IssueChange = Static<typeof IssueChange>

export const ChangedIssue = named(
  'ChangedIssue',
  Type.Object({
    id: ISSUE_PROPERTIES.id,
    state: ISSUE_PROPERTIES.state,
    decided_at: ISSUE_PROPERTIES.decided_at,
  }),
)
export type ChangedIssue = Static<typeof ChangedIssue>

const RULES = Object.keys(REFUSAL_RULES) as RefusalRule[]

/** Why events were refused: one rule, and the field that broke it. */
export const RefusalSummary = named(
  'RefusalSummary',
  Type.Object({
    status: Type.Integer({ minimum: 400, maximum: 499 }),
    field: nullable(
      Type.String({ description: 'Dotted path into the body, with * for positions in lists.' }),
    ),
    rule: stringEnum(RULES, { description: 'The anchor of the rule at /docs/refusals.' }),
    requests: count('Refused requests that name this cause first.'),
    errors: count('How often this cause was named.'),
    first_seen_at: timestamp('The first request.'),
    last_seen_at: timestamp('The last request.'),
    last_request_id: Type.String({ description: 'The Request-Id of the last request.' }),
    ...ISSUE_PROPERTIES,
    message: nullable(
      Type.String({ description: 'What the API said about the field; null where it named none.' }),
    ),
    samples: Type.Array(
      named(
        'RefusedSample',
        Type.Object({
          at: timestamp('When it was refused.'),
          request_id: Type.String(),
          form: Type.String({
            description:
              'How the field was written, with letters as `a` and digits as `9`, such as ' +
              '`"99,99"`; `missing`; or empty. Never what it said.',
          }),
        }),
      ),
      { description: 'The latest requests, at most three.' },
    ),
    values: Type.Array(StakeValue, {
      description: 'The value of the refused events, repeats included, where it can be read.',
    }),
  }),
)
export type RefusalSummary = Static<typeof RefusalSummary>

export const RefusalList = named(
  'RefusalList',
  Type.Object({
    from: timestamp('The first hour that was searched.'),
    refusals: Type.Array(RefusalSummary, {
      description: 'The most frequent first; with an event ID, by hour, latest first. At most 100.',
    }),
  }),
)
export type RefusalList = Static<typeof RefusalList>

const platformCode = () => nullable(Type.Integer({ minimum: -INTEGER_MAX, maximum: INTEGER_MAX }))

/** Deliveries that went wrong for one cause at one destination. Test deliveries do not count. */
export const DeliveryIssue = named(
  'DeliveryIssue',
  Type.Object({
    destination_id: Type.String(),
    class: stringEnum(FAILURE_CLASSES, {
      description: 'As `last_error.class`; `local` when nothing was sent.',
    }),
    code: platformCode(),
    subcode: platformCode(),
    reason: nullable(Type.String({ description: 'Why nothing was sent, such as `no_test_code`.' })),
    attempts: count('Answers with this cause, one for each delivery of the request.'),
    failed: count('Deliveries that failed for good with it. A replay does not lower this.'),
    first_seen_at: timestamp('The first answer in the period.'),
    last_seen_at: timestamp('The last answer.'),
    events: Type.Array(
      named(
        'IssueEvent',
        Type.Object({ id: Type.String(), space: stringEnum(['secret', 'publishable']) }),
      ),
      { description: 'The latest events, at most three.' },
    ),
    ...ISSUE_PROPERTIES,
  }),
)
export type DeliveryIssue = Static<typeof DeliveryIssue>

/** The latest events of a delivery issue, with what the platform said about each. */
export const IssueSamples = named(
  'IssueSamples',
  Type.Object({
    samples: Type.Array(
      named(
        'IssueSample',
        Type.Object({
          event_id: Type.String(),
          space: stringEnum(['secret', 'publishable']),
          event_name: Type.String(),
          event_time: timestamp('When it happened.'),
          value: nullable(Type.Object({ amount: Type.String(), currency: Type.String() })),
          status: Type.String({ description: 'Of its delivery now.' }),
          message: nullable(Type.String({ description: 'What the platform said.' })),
        }),
      ),
      { description: 'At most three; without those that have expired.' },
    ),
    at_stake: nullable(
      named(
        'ValueAtStake',
        Type.Object({
          values: Type.Array(StakeValue),
          is_lower_bound: Type.Boolean({ description: 'There are more events than were read.' }),
        }),
      ),
    ),
  }),
)
export type IssueSamples = Static<typeof IssueSamples>

const threshold = (minimum: number, maximum: number, description: string) =>
  Type.Number({ minimum, maximum, description })

/** From when on the alerts of a workspace are raised. */
export const AlertThresholds = named(
  'AlertThresholds',
  Type.Object({
    score_min: threshold(0, 10, 'A match quality below it raises an alert.'),
    score_fall: threshold(0.1, 10, 'As does a fall by so much within a week.'),
    unexplained_events: Type.Integer({
      minimum: 1,
      maximum: INTEGER_MAX,
      description: 'As do so many unexplained events of a day,',
    }),
    unexplained_percent: threshold(0, 100, 'that are also so many percent of the accepted ones.'),
    unreachable_minutes: Type.Integer({
      minimum: 1,
      maximum: 1_440,
      description: 'As does a destination that cannot be reached for so long.',
    }),
  }),
)
export type AlertThresholds = Static<typeof AlertThresholds>

export const IssueList = named(
  'IssueList',
  Type.Object({
    from: timestamp('The first day.'),
    issues: Type.Array(DeliveryIssue, { description: 'The latest first, at most 100.' }),
    page_only_withdrawals: count(
      'Visitors whose page withdrew consent in the period under a visitor ID that others may ' +
        'guess: only events of pages are withheld. Of the latest 10000 withdrawals.',
    ),
  }),
)
export type IssueList = Static<typeof IssueList>
