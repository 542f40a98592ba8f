import type { Database } from '../../runtime/db/database.ts'
import { generateUuidV7 } from '../../runtime/util/ids.ts'
import { type EventRef, eventRefValues, unnestEventRefs } from '../events/event-columns.ts'

/** An erasure that a destination is to be told. */
export interface ErasureMessage {
  trackerId: string
  destinationId: string
  digest: string
  /** The same for every attempt. */
  id: string
  erasedAt: Date
  attempts: number
}

interface PlannedErasure {
  trackerId: string
  /** Events of the person, whose deliveries are stopped. */
  events: readonly EventRef[]
  /** The digest of the request, and other forms of the same identifier. */
  digests: readonly string[]
  /** The platforms that take erasures. */
  platforms: readonly string[]
  at: Date
  /** After every request that is in flight. */
  dueAt: Date
}

/** Those that may have reached the platform: stopped deliveries without an attempt have not. */
const MAY_BE_SENT = "(attempt_count > 0 or first_sent_at is not null or status = 'sent')"

const deliveriesOf = (table: 'delivery_queue' | 'deliveries') => `
  select delivery.destination_id from ${unnestEventRefs('erased', 3)}
  cross join lateral (
    select destination_id from ${table}
    where tracker_id = $1::uuid and created_at = erased.created_at
      and event_id = erased.event_id and space = erased.space and ${MAY_BE_SENT}
    offset 0
  ) delivery`

const FIND_DESTINATIONS = `
  select id from destinations
  where tracker_id = $1::uuid and type = any($2::text[])
    and id in (${deliveriesOf('delivery_queue')} union all ${deliveriesOf('deliveries')})`

/**
 * Stores an erasure for each destination that was sent one of the events. It is stored before the
 * payloads are deleted, so that a repeated request finds what an interrupted one did not store.
 */
export async function storeErasureMessages(
  { pool }: Database,
  { trackerId, events, digests, platforms, at, dueAt }: PlannedErasure,
): Promise<void> {
  if (platforms.length === 0 || events.length === 0) return
  const values = [trackerId, platforms, ...eventRefValues(events)]
  const { rows } = await pool.query({ text: FIND_DESTINATIONS, values })
  for (const { id } of rows) {
    for (const digest of digests) {
      await pool.query({
        text: `insert into erasure_messages
                 (tracker_id, destination_id, digest, id, erased_at, next_attempt_at)
               values ($1::uuid, $2::uuid, $3::text, $4::uuid, $5::timestamptz, $6::timestamptz)
               on conflict (tracker_id, destination_id, digest) do update
               set id = excluded.id, erased_at = excluded.erased_at, attempts = 0,
                 next_attempt_at = excluded.next_attempt_at`,
        values: [trackerId, id, digest, generateUuidV7(at), at, dueAt],
      })
    }
  }
}

/**
 * Takes erasures that are due, the longest due first. They are due again at `until`, so that a
 * process that dies here delays them.
 */
export async function claimErasureMessages(
  { pool }: Database,
  { at, until, limit }: { at: Date; until: Date; limit: number },
): Promise<ErasureMessage[]> {
  const due = await pool.query({
    text: `select tracker_id, destination_id, digest from erasure_messages
           where next_attempt_at <= $1::timestamptz order by next_attempt_at limit $2::integer`,
    values: [at, limit],
  })
  const claimed: ErasureMessage[] = []
  for (const { tracker_id, destination_id, digest } of due.rows) {
    const { rows } = await pool.query({
      text: `update erasure_messages set next_attempt_at = $5::timestamptz, attempts = attempts + 1
             where tracker_id = $1::uuid and destination_id = $2::uuid and digest = $3::text
               and next_attempt_at <= $4::timestamptz
             returning id, erased_at, attempts`,
      values: [tracker_id, destination_id, digest, at, until],
    })
    for (const { id, erased_at, attempts } of rows) {
      const key = { trackerId: tracker_id, destinationId: destination_id, digest }
      claimed.push({ ...key, id, erasedAt: erased_at, attempts })
    }
  }
  return claimed
}

/** Keeps one for the next attempt, or forgets it. A newer erasure of the same person stays. */
export async function settleErasureMessage(
  { pool }: Database,
  { trackerId, destinationId, digest, id }: ErasureMessage,
  nextAttemptAt: Date | null,
): Promise<void> {
  const key = [trackerId, destinationId, digest, id]
  const where = `where tracker_id = $1::uuid and destination_id = $2::uuid and digest = $3::text
    and id = $4::uuid`
  await pool.query(
    nextAttemptAt === null
      ? { text: `delete from erasure_messages ${where}`, values: key }
      : {
          text: `update erasure_messages set next_attempt_at = $5::timestamptz ${where}`,
          values: [...key, nextAttemptAt],
        },
  )
}
