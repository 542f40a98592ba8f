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
  }),
)
export type DeliveryIssue = Static<typeof DeliveryIssue>

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
