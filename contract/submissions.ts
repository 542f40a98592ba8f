import Type, { type Static } from 'typebox'
import { keysOf } from './closed-set.ts'
import { ACTION_SOURCES, contextMembers } from './event-context.ts'
import { freeForm, named, stringEnum } from './scalars.ts'
import { ValueData } from './value-data.ts'

/** Lifecycle events that may be recorded on legitimate interest. None of them carries revenue. */
export const LIFECYCLE_EVENT_NAMES = ['signal_verification', 'consent_withdrawal'] as const

export const EVENT_ID_CHARACTERS_MAX = 128

/** A larger number is in milliseconds: this one is in the year 5138. */
export const UNIX_SECONDS_MAX = 99_999_999_999

const EventTime = named(
  'EventTime',
  Type.Unsafe<number | string>({
    anyOf: [
      named(
        'UnixSeconds',
        Type.Integer({
          format: 'int64',
          minimum: 0,
          maximum: UNIX_SECONDS_MAX,
          description: 'Seconds since 1970.',
        }),
      ),
      named('Iso8601Time', Type.String({ description: 'ISO 8601 with an offset, from 1970 on.' })),
    ],
    description: 'At most 5 minutes after the time of receipt, which it is when it is left out.',
  }),
)

const submissionMembers = {
  event_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: EVENT_ID_CHARACTERS_MAX,
      description: 'Idempotency key. Defaults to the Idempotency-Key header, or else a new id.',
    }),
  ),
  parent_event_id: Type.Optional(Type.String({ maxLength: EVENT_ID_CHARACTERS_MAX })),
  event_time: Type.Optional(EventTime),
  event_source: Type.Optional(
    Type.String({ format: 'uri', description: 'Absolute URI of the page.' }),
  ),
  action_source: Type.Optional(
    Type.String({
      maxLength: 50,
      description:
        `Where it happened, in any case: ${ACTION_SOURCES.join(', ')}, or a word of your own, ` +
        'which platforms get as `other`. `website` when it is left out. `app` needs `app_data`, ' +
        'and `business_messaging` needs `messaging_channel`.',
    }),
  ),
  visitor_id: Type.Optional(
    Type.String({ maxLength: 255, description: 'Your pseudonymous id of the visitor.' }),
  ),
  consent: Type.Optional(freeForm('Consent state supplied with the event.')),
  consent_mode: Type.Optional(freeForm('Consent Mode v2 signals.')),
  tcf: Type.Optional(freeForm('TCF v2: `string`, optional `captured_at`.')),
  user_data: Type.Optional(freeForm('Identity fields; hashed before they are stored.')),
  click_ids: Type.Optional(
    freeForm(
      'Click IDs and browser IDs of ad platforms by the name of their parameter or cookie, such ' +
        'as `gclid`, `ttclid` or `_fbp`. None is kept of a platform that the event refuses.',
    ),
  ),
  value_data: Type.Optional(ValueData),
  withdrawn_platforms: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 50 }), {
      minItems: 1,
      maxItems: 20,
      description:
        'Of a `consent_withdrawal`: the platforms that the person refuses from now on, as in the ' +
        '`type` of destinations. Left out, every platform.',
    }),
  ),
  ...contextMembers,
}

/** The names of the members of a submission. */
export const SUBMISSION_MEMBERS: ReadonlySet<string> = new Set([
  'event_name',
  'consent_basis',
  ...Object.keys(submissionMembers),
])

export const ConsentEvent = named(
  'ConsentEvent',
  Type.Object({
    event_name: Type.String({ minLength: 1, maxLength: 100 }),
    consent_basis: Type.Literal('consent'),
    ...submissionMembers,
  }),
)

export const LegitimateInterestEvent = named(
  'LegitimateInterestEvent',
  Type.Object({
    event_name: named('LifecycleEventName', stringEnum(LIFECYCLE_EVENT_NAMES)),
    consent_basis: Type.Literal('legitimate_interest'),
    ...submissionMembers,
  }),
)

/** The body of POST /events: one of two variants, selected by `consent_basis`. */
export const EventSubmission = named(
  'EventSubmission',
  Type.Unsafe<Static<typeof ConsentEvent> | Static<typeof LegitimateInterestEvent>>({
    oneOf: [ConsentEvent, LegitimateInterestEvent],
    discriminator: { propertyName: 'consent_basis' },
  }),
)
export type EventSubmission = Static<typeof EventSubmission>

export const IngestionWarning = named(
  'IngestionWarning',
  Type.Object({
    code: Type.Literal('consent_captured_at_invalid'),
    field: Type.Literal('consent.captured_at'),
    message: Type.String(),
  }),
)
export type IngestionWarning = Static<typeof IngestionWarning>

const NOTICE_MEANINGS = {
  member_ignored: 'not a member of this API',
  member_dropped: 'known, but its value cannot be used',
  member_redacted: 'held an email address or a phone number, which a token replaces',
  consent_unreadable:
    'a consent input that neither grants nor denies, or that refuses by words that are no known ' +
    'form',
  consent_refused_for_platform:
    'a consent input that refuses one advertising platform, to which the event is not sent',
  differs_from_stored: 'a duplicate whose body is not the one that is stored',
} as const
export type NoticeCode = keyof typeof NOTICE_MEANINGS
const NOTICE_CODES: readonly NoticeCode[] = keysOf(NOTICE_MEANINGS)

/** A member that was accepted without its full effect. Never holds a submitted value. */
export const IngestionNotice = named(
  'IngestionNotice',
  Type.Object({
    code: Type.Unsafe<NoticeCode>({
      type: 'string',
      enum: [...NOTICE_CODES],
      description: NOTICE_CODES.map(code => `\`${code}\`: ${NOTICE_MEANINGS[code]}.`).join(' '),
    }),
    field: Type.String({ description: 'Dotted path of the member; `*` for an unreadable name.' }),
    message: Type.String(),
  }),
)
export type IngestionNotice = Static<typeof IngestionNotice>

export const NewEvent = named(
  'NewEvent',
  Type.Object({
    event_id: Type.String(),
    duplicate: Type.Literal(false),
    warnings: Type.Array(IngestionWarning),
    notices: Type.Array(IngestionNotice, {
      description: 'Members that were accepted without their full effect; empty when all counted.',
    }),
  }),
)

export const DuplicateEvent = named(
  'DuplicateEvent',
  Type.Object({
    event_id: Type.String(),
    duplicate: Type.Literal(true),
    notices: Type.Optional(
      Type.Array(IngestionNotice, {
        description:
          '`differs_from_stored` when the body differs from that of the stored event, which ' +
          'counts. Left out when it is the same or cannot be compared, and with a publishable key.',
      }),
    ),
  }),
)

export const NewVerification = named(
  'NewVerification',
  Type.Object({ event_id: Type.String(), duplicate: Type.Literal(false) }),
)
