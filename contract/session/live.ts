import Type, { type Static } from 'typebox'
import { named } from '../scalars.ts'
import { EventSummary } from './events.ts'

/** Where to resume, as the header `Last-Event-ID`; an empty one counts as left out. */
export const LiveQuery = Type.Object({ last_event_id: Type.Optional(Type.String()) })

/** The data of one message of the stream. A row replaces an earlier one with its ID and space. */
export const LiveMessage = named(
  'LiveMessage',
  Type.Object({
    events: Type.Array(EventSummary, {
      description:
        'New events, oldest first. The first message of a stream has the newest fifty, or those ' +
        'since the last event ID, of which the last ten seconds were sent before.',
    }),
    changed: Type.Array(EventSummary, {
      description: 'Earlier events, with a new delivery status. Only of the last 200 events.',
    }),
    has_left_out: Type.Boolean({
      description: 'More events arrived at once than a message has: the list has them all.',
    }),
  }),
)
export type LiveMessage = Static<typeof LiveMessage>
