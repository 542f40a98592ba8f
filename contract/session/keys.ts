import Type, { type Static } from 'typebox'
import { named, nullable, stringEnum, timestamp } from '../scalars.ts'

const KEY_KINDS = ['tracker_secret', 'publishable', 'forwarding'] as const

export const FORWARDER_KINDS = ['cloudflare-worker', 'nginx', 'next-route', 'express'] as const

const optionalTime = () => nullable(Type.String({ format: 'date-time' }))

export const TrackerKey = named(
  'TrackerKey',
  Type.Object({
    id: Type.String({ description: 'Names the key here and in the audit log; no credential.' }),
    kind: stringEnum(KEY_KINDS),
    last_characters: Type.String({ description: 'The last characters, to recognize the key.' }),
    origins: Type.Array(Type.String(), {
      description: 'Publishable keys: origins of pages that may use it.',
    }),
    created_at: timestamp('When it was issued.'),
    last_used_at: optionalTime(),
    revoked_at: optionalTime(),
  }),
)
export type TrackerKey = Static<typeof TrackerKey>

export const TrackerKeyList = named(
  'TrackerKeyList',
  Type.Object({
    live: Type.Array(TrackerKey, {
      description: 'By kind, oldest first, on every page of the list.',
    }),
    revoked: Type.Array(TrackerKey, { description: 'The last revoked one first.' }),
    live_max: Type.Integer({ description: 'Live keys that a tracker may have of each kind.' }),
    next_cursor: nullable(
      Type.String({ description: '`?cursor=` for more revoked keys; null on the last page.' }),
    ),
  }),
)
export type TrackerKeyList = Static<typeof TrackerKeyList>

export const KeySubmission = named(
  'KeySubmission',
  Type.Object({
    kind: stringEnum(KEY_KINDS),
    origins: Type.Optional(
      Type.Array(Type.String({ maxLength: 300 }), {
        maxItems: 20,
        description:
          'Publishable keys only, at least one: `https://shop.example`, ' +
          '`https://*.shop.example` or `http://127.0.0.1:*`.',
      }),
    ),
  }),
)
export type KeySubmission = Static<typeof KeySubmission>

export const IssuedTrackerKey = named(
  'IssuedTrackerKey',
  Type.Object({
    key: TrackerKey,
    token: Type.String({ description: 'The key itself. Shown only once.' }),
  }),
)
export type IssuedTrackerKey = Static<typeof IssuedTrackerKey>

export const ForwarderQuery = Type.Object({
  path: Type.Optional(Type.String({ description: "The forwarder's path in the shop, or /sb." })),
})

export const Forwarder = named(
  'Forwarder',
  Type.Object({
    kind: stringEnum(FORWARDER_KINDS),
    file_name: Type.String({ description: 'The usual name of the file in the shop.' }),
    source: Type.String({ description: 'The file. It contains no secret.' }),
    steps: Type.Array(Type.String(), { description: 'What to do with it, in order.' }),
    page_snippet: Type.String({ description: 'What the pages of the shop need in their head.' }),
  }),
)
export type Forwarder = Static<typeof Forwarder>

export const ForwarderCheck = named(
  'ForwarderCheck',
  Type.Object({
    status: stringEnum(['no_secret', 'waiting', 'valid', 'refused'], {
      description:
        'no_secret: no live forwarding secret. waiting: no signed request yet. valid or refused: ' +
        'how the last signed request ended.',
    }),
    last_valid_at: optionalTime(),
    last_valid_key: nullable(
      Type.String({ description: 'The last characters of the forwarding secret that signed it.' }),
    ),
    last_refused: nullable(
      named(
        'RefusedForwarding',
        Type.Object({
          at: timestamp('When the last signature was refused.'),
          requests: Type.Integer({ description: 'Refused requests in the last 24 hours.' }),
          request_id: Type.String({ description: 'The Request-Id of the last one.' }),
          advice: Type.String({ description: 'What to check.' }),
        }),
      ),
    ),
    test_command: Type.String({
      description:
        'A line for a terminal that sends one verification event through the forwarder, once the ' +
        'host and the publishable key are filled in.',
    }),
  }),
)
export type ForwarderCheck = Static<typeof ForwarderCheck>
