import type { Database } from '../db/database.ts'
import { arraysOf, type BatchColumn, unnestOf } from '../db/row-arrays.ts'
import { type FoundPayload, PAYLOAD_COLUMNS } from './erase-store.ts'
import { payloadTimeOf } from './event-space.ts'
import { identifiersOf, indexKey } from './identifiers.ts'

/**
 * Writes the index keys of payloads that a process of the previous version stored without them.
 * Every erasure that reads such payloads does so: otherwise each later erasure of the tracker would
 * read them again, and with too many of them none would ever finish. A row that another erasure has
 * locked is left to that one.
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
       from ${unnestOf(KEYED_COLUMNS, { alias: 'asked', firstParameter: 2 })}
       cross join lateral (
         select tracker_id, created_at, event_id, space, received_on from event_payloads
         where tracker_id = $1::uuid
           and created_at = ${payloadTimeOf('asked')}
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
      ...arraysOf(
        KEYED_COLUMNS,
        payloads.map(payload => ({ ...payload, keys: keysText(trackerId, payload) })),
      ),
    ],
  )
}

const KEYED_COLUMNS: readonly BatchColumn<FoundPayload & { keys: string }>[] = [
  ...PAYLOAD_COLUMNS,
  { name: 'keys', type: 'text', text: ({ keys }) => keys },
]

function keysText(trackerId: string, payload: FoundPayload): string {
  const keys = identifiersOf(payload).map(digest => indexKey(trackerId, digest))
  return `{${keys.join(',')}}`
}
