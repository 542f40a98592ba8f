import Type, { type Static } from 'typebox'
import { deliveryId, named, optionalBody } from './scalars.ts'

/** The most failed deliveries that one request considers, and the default. */
export const REPLAY_LIMIT_MAX = 10_000
export const REPLAY_LIMIT_DEFAULT = 1_000

/** The largest body of a replay: as many delivery ids as it may name, of any size, fit. */
export const REPLAY_BYTES_MAX = 262_144

export const ReplaySubmission = named(
  'ReplaySubmission',
  optionalBody({
    delivery_ids: Type.Optional(
      Type.Array(deliveryId(), {
        maxItems: REPLAY_LIMIT_MAX,
        description: 'Only these deliveries.',
      }),
    ),
    event_name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: 'Only deliveries of events with this name.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: REPLAY_LIMIT_MAX,
        description:
          'Number of failed deliveries to consider, newest events first; ' +
          `${REPLAY_LIMIT_DEFAULT} if omitted.`,
      }),
    ),
  }),
)
export type ReplaySubmission = Static<typeof ReplaySubmission>

const count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: REPLAY_LIMIT_MAX, description })

export const ReplayResult = named(
  'ReplayResult',
  Type.Object({
    queued: count('Deliveries queued to be sent again.'),
    expired: count('Not queued: the event is too old for the platform.'),
    payload_expired: count('Not queued: the identity payload of the event was deleted.'),
    capped: Type.Boolean({ description: 'More failed deliveries matched than the limit.' }),
  }),
)
export type ReplayResult = Static<typeof ReplayResult>
