import Type, { type Static } from 'typebox'
import { DELIVERY_STATUSES, type DeliveryStatus } from '../deliveries.ts'
import { EventOrder } from '../orders.ts'
import { freeForm, INTEGER_MAX, named, nullable, stringEnum, timestamp } from '../scalars.ts'

/** Statuses that a list combines, as the overview does. */
export const STATUS_GROUPS = {
  waiting: ['queued', 'sent', 'retrying'],
  failed: ['failed:auth', 'failed:permanent', 'failed:unknown'],
  held: [
    'skipped:consent',
    'skipped:no_destination',
    'skipped:duplicate',
    'skipped:not_selected',
    'expired',
  ],
  /** Not sent because of consent, age or a missing destination. */
  held_back: ['skipped:consent', 'skipped:no_destination', 'expired'],
  /** Not meant for the destination. */
  skipped: ['skipped:not_selected', 'skipped:duplicate'],
} as const satisfies Record<string, readonly DeliveryStatus[]>
export type StatusGroup = keyof typeof STATUS_GROUPS

/** What the parameter `status` of a search may be. */
const STATUS_FILTERS = [
  ...(Object.keys(STATUS_GROUPS) as StatusGroup[]),
  ...DELIVERY_STATUSES,
] as const

const count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: INTEGER_MAX, description })

const UUID_PATTERN = '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'

const eventTime = (description: string) =>
  Type.Optional(Type.String({ maxLength: 40, description }))

/** The filters of a search, as query parameters. An event must match all of them. */
export const EventSearch = named(
  'EventSearch',
  Type.Object({
    event_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Exactly this ID, in both spaces. The other filters do not apply.',
      }),
    ),
    event_name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    status: Type.Optional(stringEnum(STATUS_FILTERS)),
    order_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    parent_event_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description:
          'Exactly this event ID, order ID, parent or trace ID of a platform. The other filters ' +
          'do not apply.',
      }),
    ),
    destination_id: Type.Optional(
      Type.String({ pattern: UUID_PATTERN, description: 'A delivery to it.' }),
    ),
    reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: 100, description: 'A delivery with this reason.' }),
    ),
    test: Type.Optional(
      stringEnum(['yes', 'no'], { description: 'A delivery that is a test, or that is not.' }),
    ),
    space: Type.Optional(
      stringEnum(['secret', 'publishable'], { description: 'Sent by a back end, or by a page.' }),
    ),
    value_min: Type.Optional(
      Type.String({
        pattern: '^[0-9]{1,15}([.][0-9]{1,6})?$',
        description: 'Its value is at least this, in its own currency.',
      }),
    ),
    happened_from: eventTime('It happened at or after this time, ISO 8601.'),
    happened_to: eventTime('It happened before this time, ISO 8601.'),
    from: eventTime('Received at or after this time, ISO 8601.'),
    to: eventTime('Received before this time, ISO 8601.'),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1_000, description: 'The `next_cursor` before.' }),
    ),
  }),
)
export type EventSearch = Static<typeof EventSearch>

export const EventExport = Type.Object({
  format: Type.Optional(
    stringEnum(['csv', 'ndjson'], {
      description: 'CSV (default) has a row for each delivery, NDJSON a line for each event.',
    }),
  ),
  ...EventSearch.properties,
})
export type EventExport = Static<typeof EventExport>

/** Which key sent the event; null for one that was stored before there were two spaces. */
const space = () => nullable(stringEnum(['secret', 'publishable']))

const EventOutcome = named(
  'EventOutcome',
  Type.Object({
    delivery_id: Type.Integer({ format: 'int64', minimum: 1 }),
    destination_id: nullable(Type.String()),
    status: stringEnum(DELIVERY_STATUSES),
    is_test: Type.Boolean(),
    attempt_count: count('Requests that carried the event.'),
  }),
)

const summaryMembers = {
  id: Type.String(),
  space: space(),
  event_name: Type.String(),
  event_time: timestamp('When it happened.'),
  created_at: timestamp('When it was received.'),
  event_class: Type.String(),
  action_source: Type.String(),
  order_id: nullable(Type.String()),
  parent_event_id: nullable(Type.String()),
  value_amount: nullable(Type.String({ description: 'Major units, as decimal text.' })),
  value_currency: nullable(Type.String()),
}

/** An event in a list: no identity, and of its deliveries the outcome. */
export const EventSummary = named(
  'EventSummary',
  Type.Object({ ...summaryMembers, deliveries: Type.Array(EventOutcome) }),
)
export type EventSummary = Static<typeof EventSummary>

export const EventSearchPage = named(
  'EventSearchPage',
  Type.Object({
    events: Type.Array(EventSummary, { description: 'Newest first, at most fifty.' }),
    next_cursor: nullable(Type.String({ description: 'Null after the last event.' })),
    searched_until: nullable(
      timestamp(
        'A search reads ten thousand rows at a time. Where it stopped before the page was full: ' +
          'newer events are searched, older ones are not. Else null.',
      ),
    ),
  }),
)
export type EventSearchPage = Static<typeof EventSearchPage>

const ConsentSignalView = named(
  'ConsentSignalView',
  Type.Object({
    source: Type.String({ description: '`consent`, `tcf`, `consent_mode` or `gpc`.' }),
    state: stringEnum(['granted', 'denied', 'unknown']),
    reason: Type.String({ description: 'Why it is read so, such as `words_granted`.' }),
    field: Type.String({ description: 'The member of the submission that was read.' }),
    captured_at: nullable(timestamp('When the choice was made, if that is credible.')),
    has_decided: Type.Boolean({ description: 'The decision follows from this signal.' }),
  }),
)

const PlatformConsentView = named(
  'PlatformConsentView',
  Type.Object({
    platform: Type.String({ description: 'As in the `type` of its destinations.' }),
    outcome: Type.String({ description: '`granted`, `withheld` or `denied`.' }),
    reason: Type.String(),
    field: nullable(Type.String({ description: 'The member that decided.' })),
    is_personalized: Type.Boolean({
      description: 'False: the platform may count the event, and not use it to personalize ads.',
    }),
  }),
)

export const ConsentDecisionView = named(
  'ConsentDecisionView',
  Type.Object({
    outcome: Type.String({ description: '`granted`, `withheld` or `ledger_only`.' }),
    reason: Type.String(),
    captured_at: nullable(timestamp('When the consent was given that allows delivery.')),
    rules_version: Type.String(),
    signals: Type.Array(ConsentSignalView),
    platforms: Type.Array(PlatformConsentView, {
      description: 'The platforms that are decided otherwise than the event.',
    }),
  }),
)
export type ConsentDecisionView = Static<typeof ConsentDecisionView>

const names = (description: string) => Type.Array(Type.String(), { description })

/** What identifies the person, by name. Values are never shown. */
export const EventIdentity = named(
  'EventIdentity',
  Type.Object({
    state: stringEnum(['stored', 'expired', 'erased', 'not_stored'], {
      description: '`not_stored`: events of this kind keep no identity.',
    }),
    keys: names('Identifiers that are present, such as `em`.'),
    click_ids: names('Click IDs that came with the event, such as `fbc`.'),
    session_click_ids: names("Click IDs of the visitor's session, added when it is sent."),
    has_visitor_id: Type.Boolean(),
  }),
)
export type EventIdentity = Static<typeof EventIdentity>

/** What happened to members of the submission on receipt. Names only. */
const EventNotesView = named(
  'EventNotesView',
  Type.Object({
    dropped: Type.Array(Type.Object({ field: Type.String(), reason: Type.String() })),
    ignored: names('Members that the service does not know; `*` hides an unsafe name.'),
    redacted: names('Members in which a token replaced an identifier.'),
    differing_submissions: count('Times that the same ID came again with a different body.'),
    last_differing_at: nullable(timestamp('The last of them. The first body is kept.')),
  }),
)

const AttemptView = named(
  'AttemptView',
  Type.Object({
    started_at: timestamp('When the request began.'),
    duration_milliseconds: count('Until the answer.'),
    outcome: Type.String({ description: 'How the answer is classified, such as `permanent`.' }),
    http_status: nullable(Type.Integer()),
    trace_id: nullable(Type.String({ description: 'For the support team of the platform.' })),
    event_count: count('Events of the request.'),
    answer: nullable(freeForm("The platform's answer, without secrets.")),
  }),
)

export const DeliveryDetails = named(
  'DeliveryDetails',
  Type.Object({
    id: Type.Integer({ format: 'int64', minimum: 1 }),
    destination_id: nullable(Type.String()),
    platform: nullable(Type.String({ description: 'The `type` of the destination.' })),
    destination_name: nullable(
      Type.String({ description: 'The platform for people, and where the destination sends.' }),
    ),
    status: stringEnum(DELIVERY_STATUSES),
    status_reason: Type.String(),
    is_test: Type.Boolean(),
    explanation: Type.String({ description: 'What happened, why, and what happens next.' }),
    can_replay: Type.Boolean({
      description: 'It failed, a replay would queue it now, and it may succeed.',
    }),
    replay_advice: nullable(
      Type.String({ description: 'What to do where a replay of a failure cannot help.' }),
    ),
    attempt_count: count('Requests that carried it.'),
    attempts: Type.Array(AttemptView, { description: 'The last twenty, oldest first.' }),
    platform_trace_id: nullable(Type.String()),
    last_error: nullable(freeForm('The last error of the platform or of the network.')),
    request: Type.Object({
      body: nullable(
        Type.String({
          description:
            'The request with this event as JSON text, rebuilt from what is stored now, with ' +
            'shortened digests and identifiers and without a credential.',
        }),
      ),
      sentence: Type.String({ description: 'What it is, or why there is none.' }),
    }),
    window_ends_at: nullable(timestamp('When the platform stops accepting the event.')),
    next_attempt_at: nullable(timestamp('Null if none is planned.')),
    replayed_at: nullable(timestamp('The last replay.')),
    created_at: timestamp('When it was planned.'),
    updated_at: nullable(timestamp('When the status last changed.')),
  }),
)
export type DeliveryDetails = Static<typeof DeliveryDetails>

export const RelatedEvent = named('RelatedEvent', Type.Object(summaryMembers))
export type RelatedEvent = Static<typeof RelatedEvent>

export const EventDetails = named(
  'EventDetails',
  Type.Object({
    summary: Type.String({ description: 'What happened to the event, in a sentence.' }),
    ...summaryMembers,
    is_in_both_spaces: Type.Boolean({ description: 'Both kinds of keys sent this ID.' }),
    event_source: nullable(Type.String({ description: 'The page, without query.' })),
    consent_basis: Type.String(),
    measurement_class: Type.String(),
    attribution_join: Type.String(),
    enforcement_scope: Type.String(),
    value_data: nullable(freeForm('Commerce data as it was sent.')),
    consent: nullable(ConsentDecisionView),
    identity: EventIdentity,
    notes: EventNotesView,
    parent: nullable(RelatedEvent),
    children: Type.Array(RelatedEvent, { description: 'Oldest first, at most a hundred.' }),
    order: nullable(EventOrder),
    deliveries: Type.Array(DeliveryDetails),
  }),
)
export type EventDetails = Static<typeof EventDetails>
