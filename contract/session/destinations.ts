import Type, { type Static } from 'typebox'
import { Destination, TestPurchase } from '../destinations.ts'
import { BACKOFF_CAUSES, SEND_OUTCOMES } from '../reasons.ts'
import { DestinationRouting } from '../routing.ts'
import { freeForm, INTEGER_MAX, named, nullable, stringEnum, timestamp } from '../scalars.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })

const TargetField = named(
  'TargetField',
  Type.Object({
    name: Type.String(),
    label: Type.String(),
    hint: Type.String(),
    optional: Type.Optional(Type.Boolean({ description: 'It may be left empty.' })),
  }),
)

const CredentialForm = named(
  'CredentialForm',
  Type.Object({
    kind: stringEnum(['bearer_token', 'service_account_key', 'refresh_token']),
    label: Type.String(),
    hint: Type.String(),
  }),
)

const PlatformEventNames = named(
  'PlatformEventNames',
  Type.Object(
    {
      label: Type.String(),
      hint: Type.String({ description: 'Where the platform shows them.' }),
      pattern: Type.String({ description: 'What one looks like, as a regular expression.' }),
    },
    { description: 'The names of its own that the routing maps events to; null without any.' },
  ),
)

const DestinationPlatform = named(
  'DestinationPlatform',
  Type.Object({
    type: Type.String({ description: 'The `type` of its destinations.' }),
    label: Type.String(),
    fields: Type.Array(TargetField, { description: 'The members of `config` to ask for.' }),
    credentials: Type.Array(CredentialForm, {
      description: 'What `access_token` may be, the recommended kind first.',
    }),
    event_names: nullable(PlatformEventNames),
  }),
)
export type DestinationPlatform = Static<typeof DestinationPlatform>

const DestinationQueue = named(
  'DestinationQueue',
  Type.Object({
    waiting: count('Deliveries that have no final status.'),
    retrying: count('Those of them that failed and are tried again.'),
    in_flight: count('Those of them whose request has no answer yet.'),
    is_lower_bound: Type.Boolean({ description: 'More wait than were counted.' }),
    oldest_at: nullable(timestamp('When the event of the oldest one was received.')),
    next_attempt_at: nullable(timestamp('When the first one is due.')),
  }),
)

const DestinationBackoff = named(
  'DestinationBackoff',
  Type.Object({
    cause: stringEnum(BACKOFF_CAUSES),
    since: timestamp('The first request that failed, or the answer that asked for the pause.'),
    until: timestamp('When the next request may be made.'),
  }),
)

const DestinationRequest = named(
  'DestinationRequest',
  Type.Object({
    at: timestamp('When it was made.'),
    duration_milliseconds: count('How long the answer took.'),
    event_count: count('Events in the request.'),
    is_test: Type.Boolean(),
    outcome: stringEnum(SEND_OUTCOMES),
    http_status: nullable(Type.Integer()),
    trace_id: nullable(Type.String({ description: 'For the support team of the platform.' })),
    answer: nullable(freeForm('What the platform answered, without secrets.')),
  }),
)

const OpenAlert = named(
  'OpenAlert',
  Type.Object({
    kind: Type.String(),
    sentence: Type.String(),
    raised_at: timestamp('When it was raised.'),
  }),
)

/** One line without control characters. */
const DestinationName = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'What people call it, beside its platform and target.',
})

export const DestinationChange = named(
  'DestinationChange',
  Type.Object(
    {
      name: Type.Optional(nullable(DestinationName)),
      paused: Type.Optional(
        Type.Boolean({ description: 'Whether its events wait until a person resumes it.' }),
      ),
    },
    { description: 'Members that are left out do not change.' },
  ),
)

export const DestinationStatus = named(
  'DestinationStatus',
  Type.Object({
    destination: Destination,
    name: nullable(DestinationName),
    paused_at: nullable(
      timestamp('When a person paused it. Only a person resumes it: no probe, no new credential.'),
    ),
    target: Type.String({ description: 'The values of its `config` as one text.' }),
    credential: stringEnum(['accepted', 'rejected', 'unreadable', 'untried'], {
      description:
        'The platform accepted or rejected the last request with this credential, no request ' +
        'with it has been answered, or no key of this installation opens it.',
    }),
    queue: DestinationQueue,
    backoff: nullable(DestinationBackoff),
    next_check_at: nullable(
      timestamp('When a paused destination is tried again with one waiting event.'),
    ),
    test_mode_seconds_left: nullable(
      Type.Integer({ minimum: 1, description: 'Null while test mode is off.' }),
    ),
    last_request: nullable(DestinationRequest),
    alerts: Type.Array(OpenAlert),
    routing: DestinationRouting,
  }),
)
export type DestinationStatus = Static<typeof DestinationStatus>

export const DestinationStatusList = named(
  'DestinationStatusList',
  Type.Object({
    destinations: Type.Array(DestinationStatus, { description: 'Oldest first.' }),
    platforms: Type.Array(DestinationPlatform),
  }),
)
export type DestinationStatusList = Static<typeof DestinationStatusList>

/** A secret in a request body, which is sealed at once and never returned. */
/** What is too long for its kind is refused beside the other fields, with a hint. */
const AccessToken = Type.String({
  minLength: 1,
  maxLength: 20_000,
  description:
    'A token, or the JSON of another kind of credential: the key file of a service account, or ' +
    '`{"kind": "refresh_token", "client_id", "client_secret", "refresh_token"}`.',
})
const Config = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'The values of the fields that the platform asks for.',
})

export const DestinationSubmission = named(
  'DestinationSubmission',
  Type.Object({
    type: Type.String({ description: 'One of `platforms`.' }),
    config: Config,
    access_token: AccessToken,
    ad_account_id: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 1,
          maximum: INTEGER_MAX,
          description: 'The ad account of the workspace that its agents see it under.',
        }),
      ),
    ),
  }),
)
export type DestinationSubmission = Static<typeof DestinationSubmission>

export const CredentialSubmission = named(
  'CredentialSubmission',
  Type.Object({ access_token: AccessToken, config: Type.Optional(Config) }),
)
export type CredentialSubmission = Static<typeof CredentialSubmission>

export const SentTestPurchase = named(
  'SentTestPurchase',
  Type.Object({
    ...TestPurchase.properties,
    reason: nullable(
      Type.String({ description: 'What the platform said against it; null when it is accepted.' }),
    ),
  }),
)
export type SentTestPurchase = Static<typeof SentTestPurchase>

const TestModeNotice = named(
  'TestModeNotice',
  Type.Object({
    destination_id: Type.String(),
    type: Type.String(),
    target: Type.String(),
    seconds_left: Type.Integer({ minimum: 1, description: 'Until test mode turns off.' }),
  }),
)
export const TestModeNoticeList = named(
  'TestModeNoticeList',
  Type.Object({ test_modes: Type.Array(TestModeNotice) }),
)
export type TestModeNoticeList = Static<typeof TestModeNoticeList>
