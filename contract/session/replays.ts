import Type, { type Static } from 'typebox'
import { REPLAY_LIMIT_DEFAULT, REPLAY_LIMIT_MAX } from '../replays.ts'
import { deliveryId, INTEGER_MAX, named, nullable, stringEnum, timestamp } from '../scalars.ts'
import { STATUS_GROUPS } from './events.ts'

const REPLAY_EVENTS_MAX = 100

const platformCode = () => nullable(Type.Integer({ minimum: -INTEGER_MAX, maximum: INTEGER_MAX }))

/** The last error of a delivery. Members that are left out match every error. */
const ReplayCause = named(
  'ReplayCause',
  Type.Object(
    {
      class: Type.Optional(Type.String({ pattern: '^[a-z_]{1,40}$' })),
      code: Type.Optional(platformCode()),
      subcode: Type.Optional(platformCode()),
    },
    { additionalProperties: false },
  ),
)
export type ReplayCause = Static<typeof ReplayCause>

/**
 * The failed deliveries of a replay, or of its preview: those that match every member. Without
 * members it is all of them.
 */
export const ReplaySelection = named(
  'ReplaySelection',
  Type.Object(
    {
      delivery_ids: Type.Optional(Type.Array(deliveryId(), { maxItems: REPLAY_LIMIT_MAX })),
      event_ids: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
          maxItems: REPLAY_EVENTS_MAX,
          description: 'The deliveries of these events, in both spaces.',
        }),
      ),
      event_name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
      statuses: Type.Optional(
        Type.Array(stringEnum(STATUS_GROUPS.failed), { minItems: 1, maxItems: 3 }),
      ),
      destination_id: Type.Optional(Type.String({ maxLength: 36 })),
      cause: Type.Optional(ReplayCause),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: REPLAY_LIMIT_MAX,
          description:
            'Failed deliveries to consider, newest events first; ' +
            `${REPLAY_LIMIT_DEFAULT} if omitted.`,
        }),
      ),
    },
    { additionalProperties: false },
  ),
)
export type ReplaySelection = Static<typeof ReplaySelection>

const count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: INTEGER_MAX, description })

const countMembers = {
  queued: count('Deliveries that are queued to be sent again.'),
  expired: count('Not queued: the event is too old for the platform.'),
  payload_expired: count('Not queued: the identity payload of the event was deleted.'),
  may_count_twice: count(
    'Of the queued ones: first sent more than 48 hours ago, so the platform no longer recognizes ' +
      'the ID if it has the event.',
  ),
  unknown_outcome: count(
    'Of the queued ones: an attempt ended without a known answer, so the platform may have the ' +
      'event already.',
  ),
  capped: Type.Boolean({ description: 'More failed deliveries match than the limit.' }),
}

/** What the replay of the same selection would do now. */
export const ReplayPreview = named('ReplayPreview', Type.Object(countMembers))
export type ReplayPreview = Static<typeof ReplayPreview>

export const ReplayOutcome = named(
  'ReplayOutcome',
  Type.Object({ ...countMembers, replayed_at: timestamp('Names the replay in its progress.') }),
)
export type ReplayOutcome = Static<typeof ReplayOutcome>

export const ReplayProgress = named(
  'ReplayProgress',
  Type.Object({
    waiting: count('Deliveries of the replay that still wait or are being sent.'),
    failed: count('Deliveries of the replay that failed again.'),
    is_exact: Type.Boolean({
      description: 'False in a queue so long that there may be more of both.',
    }),
  }),
)
export type ReplayProgress = Static<typeof ReplayProgress>
