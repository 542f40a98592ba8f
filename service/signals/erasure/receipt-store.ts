import { CompiledQuery } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'

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

/** An erasure as the list shows it; it does not tell who was erased. */
export interface ListedDeletion {
  id: string
  requests: number
  events: number
  sessions: number
  createdAt: Date
  completedAt: Date
}

interface ReceiptPage {
  trackerId: string
  /** The ID of the last receipt of the page before; null for the first page. */
  after: string | null
  limit: number
}

/** A page of the receipts of a tracker, newest first: IDs are UUIDv7 and sort by time. */
export async function listReceipts(
  { pool }: Database,
  { trackerId, after, limit }: ReceiptPage,
): Promise<ListedDeletion[]> {
  const { rows } = await pool.query({
    name: 'list-receipts',
    text: `select id, requests, events_updated, sessions_updated, created_at, completed_at
           from deletion_requests
           where tracker_id = $1::uuid and ($2::text is null or id < $2::text)
           order by id desc limit $3::integer`,
    values: [trackerId, after, limit],
  })
  return rows.map(row => ({
    id: row.id,
    requests: row.requests,
    events: row.events_updated,
    sessions: row.sessions_updated,
    createdAt: row.created_at,
    completedAt: row.completed_at,
  }))
}
