import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/row-arrays.ts'
import type { FoundPayload } from './erase-store.ts'
import { placeArrays } from './event-space.ts'
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
       select payload.tracker_id, payload.created_at, payload.event_id, payload.space,
         payload.received_on, asked.keys
       from unnest($2::timestamptz[], $3::text[], $4::smallint[], $5::date[], $6::text[])
         as asked(created_at, event_id, space, received_on, keys)
       cross join lateral (
         select tracker_id, created_at, event_id, space, received_on from event_payloads
         where tracker_id = $1::uuid
           and created_at = case asked.space when 2 then '-infinity' else asked.created_at end
           and event_id = asked.event_id and space = asked.space
           and received_on = asked.received_on
         limit 1 for update skip locked
       ) payload
     )
     update event_payloads payload set identifier_keys = found.keys::integer[] from found
     where payload.tracker_id = found.tracker_id and payload.created_at = found.created_at
       and payload.event_id = found.event_id and payload.space = found.space
       and payload.received_on = found.received_on`,
    [
      trackerId,
      ...placeArrays(payloads),
      arrayLiteral(payloads.map(({ receivedOn }) => receivedOn)),
      arrayLiteral(payloads.map(payload => keysText(trackerId, payload))),
    ],
  )
}

function keysText(trackerId: string, payload: FoundPayload): string {
  const keys = identifiersOf(payload).map(digest => indexKey(trackerId, digest))
  return `{${keys.join(',')}}`
}
