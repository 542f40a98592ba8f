import { CompiledQuery } from 'kysely'
import type { Transaction } from '../db/database.ts'

export interface CompletedDeletion {
  trackerId: string
  /** HMAC of the digest, in hexadecimal. The digest itself is not stored. */
  keyed: string
  /** The ID of the receipt if it is the first for this digest. */
  newId: string
  events: number
  sessions: number
  completedAt: Date
}

export interface DeletionReceipt {
  id: string
  isFirst: boolean
}

/** Inserts the receipt or adds to the existing one. One of several equal requests is first. */
export async function upsertReceipt(
  { query }: Transaction,
  { trackerId, keyed, newId, events, sessions, completedAt }: CompletedDeletion,
): Promise<DeletionReceipt> {
  const statement = CompiledQuery.raw(
    `insert into deletion_requests as receipt (tracker_id, keyed_digest, id, requests,
       events_updated, sessions_updated, created_at, completed_at)
     values ($1::uuid, $2::bytea, $3::text, 1, $4::integer, $5::integer, $6::timestamptz,
       $6::timestamptz)
     on conflict (tracker_id, keyed_digest) do update set
       requests = receipt.requests + 1,
       events_updated = receipt.events_updated + excluded.events_updated,
       sessions_updated = receipt.sessions_updated + excluded.sessions_updated,
       completed_at = greatest(receipt.completed_at, excluded.completed_at)
     returning id, requests = 1 as "isFirst"`,
    [trackerId, Buffer.from(keyed, 'hex'), newId, events, sessions, completedAt],
  )
  const { rows } = await query.executeQuery(statement)
  return rows[0] as DeletionReceipt
}
