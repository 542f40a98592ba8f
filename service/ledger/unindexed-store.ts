import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/row-arrays.ts'
import type { FoundPayload } from './erase-store.ts'
import { identifiersOf, indexKey } from './identifiers.ts'

/**
 * Gives payloads that a process of the version before has stored their numbers, by whoever has read
 * them: without, every erasure of the tracker would read them again, and one with too many of them
 * would never come to its end. A row that somebody else is erasing is left to them.
 */
export async function indexPayloads(
  { pool }: Database,
  trackerId: string,
  payloads: readonly FoundPayload[],
): Promise<void> {
  if (payloads.length === 0) return
  await pool.query(
    `with found as materialized (
       select payload.tracker_id, payload.event_id, payload.received_on, asked.keys
       from unnest($2::text[], $3::date[], $4::text[]) as asked(event_id, received_on, keys)
       cross join lateral (
         select tracker_id, event_id, received_on from event_payloads
         where tracker_id = $1 and event_id = asked.event_id and received_on = asked.received_on
         limit 1 for update skip locked
       ) payload
     )
     update event_payloads payload set identifier_keys = found.keys::integer[] from found
     where payload.tracker_id = found.tracker_id and payload.event_id = found.event_id
       and payload.received_on = found.received_on`,
    [
      trackerId,
      arrayLiteral(payloads.map(({ eventId }) => eventId)),
      arrayLiteral(payloads.map(({ receivedOn }) => receivedOn)),
      arrayLiteral(payloads.map(payload => `{${identifiersOf(payload).map(indexKey).join(',')}}`)),
    ],
  )
}
