import Type, { type Static } from 'typebox'
import { named, nullable, stringEnum, timestamp } from '../scalars.ts'
import { DIGEST_MINUTES, NOTIFICATION_TOPICS, WEBHOOK_FORMATS } from './notification-topics.ts'

const Topics = Type.Array(stringEnum(NOTIFICATION_TOPICS))

const WebhookState = named(
  'WebhookState',
  Type.Object({
    host: Type.String({ description: 'The path of a URL can be a secret, so it is not shown.' }),
    format: stringEnum(WEBHOOK_FORMATS),
    disabled: nullable(
      Type.Object(
        { at: timestamp('When it was turned off.'), problem: Type.String() },
        { description: 'Null while it is on.' },
      ),
    ),
    messages: Type.Array(
      Type.Object({
        id: Type.String({ format: 'uuid' }),
        created_at: timestamp('When it was composed.'),
        status: stringEnum(['pending', 'sent', 'failed']),
        attempts: Type.Integer(),
        problem: nullable(Type.String({ description: 'Why the last attempt failed.' })),
      }),
      { description: 'The last messages, newest first.' },
    ),
  }),
)

export const NotificationState = named(
  'NotificationState',
  Type.Object({
    own_topics: Type.Array(
      Type.Object({
        topic: stringEnum(NOTIFICATION_TOPICS),
        is_wanted: Type.Boolean({ description: 'Whether this person gets it by email.' }),
        is_muted: Type.Boolean({ description: 'Whether the workspace sends it to nobody.' }),
      }),
      { description: 'The topics that this person may choose.' },
    ),
    email_topics: Topics,
    webhook_topics: Topics,
    digest_minutes: Type.Integer(),
    webhook: nullable(WebhookState),
  }),
)
export type NotificationState = Static<typeof NotificationState>

export const OwnTopics = named('OwnTopics', Type.Object({ topics: Topics }))

/** Topics that are left out are not sent. */
export const WorkspaceTopics = named(
  'WorkspaceTopics',
  Type.Object({
    email_topics: Topics,
    webhook_topics: Topics,
    digest_minutes: Type.Unsafe<(typeof DIGEST_MINUTES)[number]>({
      type: 'integer',
      enum: DIGEST_MINUTES,
    }),
  }),
)

export const WebhookSubmission = named(
  'WebhookSubmission',
  Type.Object({
    url: Type.String({ description: 'https and a public address. It is stored encrypted.' }),
    format: stringEnum(WEBHOOK_FORMATS),
  }),
)

export const IssuedSigningSecret = named(
  'IssuedSigningSecret',
  Type.Object({ signing_secret: Type.String({ description: 'Shown only once.' }) }),
)
