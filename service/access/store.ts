import type { Database, Transaction } from '../db/database.ts'
import type { TokenKind } from './token-format.ts'

/** The tracker that a key authenticates. */
export interface TrackerIdentity {
  trackerId: string
  workspaceId: number
}

/** Finds the live key with this digest, or null. On the hot path, hence prepared. */
export async function findTrackerByKey(
  { pool }: Database,
  kind: TokenKind,
  digest: Buffer,
): Promise<TrackerIdentity | null> {
  const { rows } = await pool.query({
    name: 'find-tracker-by-key',
    text: `select keys.tracker_id, trackers.workspace_id
           from tracker_keys keys join trackers on trackers.id = keys.tracker_id
           where keys.key_digest = $1::bytea and keys.kind = $2::text and keys.revoked_at is null`,
    values: [digest, kind],
  })
  const row = rows[0]
  return row ? { trackerId: row.tracker_id, workspaceId: row.workspace_id } : null
}

export interface PublishableKey extends TrackerIdentity {
  /** Where the key may be used, as `normalizeOriginPattern` returns them. */
  origins: string[]
}

/** Finds the live publishable key with this digest, or null. On the hot path, hence prepared. */
export async function findPublishableKey(
  { pool }: Database,
  digest: Buffer,
): Promise<PublishableKey | null> {
  const { rows } = await pool.query({
    name: 'find-publishable-key',
    text: `select keys.tracker_id, trackers.workspace_id, keys.origins
           from tracker_keys keys join trackers on trackers.id = keys.tracker_id
           where keys.key_digest = $1::bytea and keys.kind = 'publishable'
             and keys.revoked_at is null`,
    values: [digest],
  })
  const row = rows[0]
  return row
    ? { trackerId: row.tracker_id, workspaceId: row.workspace_id, origins: row.origins }
    : null
}

export interface NewKey {
  trackerId: string
  kind: TokenKind
  digest: Buffer
  lastCharacters: string
  createdAt: Date
  /** Publishable keys only. */
  origins?: readonly string[]
}

export async function insertKey({ query }: Transaction, key: NewKey): Promise<void> {
  await query
    .insertInto('tracker_keys')
    .values({
      tracker_id: key.trackerId,
      key_digest: key.digest,
      kind: key.kind,
      last_characters: key.lastCharacters,
      created_at: key.createdAt,
      origins: [...(key.origins ?? [])],
    })
    .execute()
}

/** Live keys of one kind, oldest first. */
export async function listLiveKeys({ query }: Transaction, trackerId: string, kind: TokenKind) {
  return query
    .selectFrom('tracker_keys')
    .select(['key_digest', 'last_characters', 'created_at'])
    .where('tracker_id', '=', trackerId)
    .where('kind', '=', kind)
    .where('revoked_at', 'is', null)
    .orderBy('created_at')
    .execute()
}

export interface KeyLookup {
  trackerId: string
  lastCharacters: string
  /** Null for every kind. */
  kind: TokenKind | null
}

/** The live keys of a tracker with this ending: one, except by rare coincidence. */
export async function findLiveKeysByLastCharacters(
  { query }: Database,
  { trackerId, lastCharacters, kind }: KeyLookup,
) {
  const live = query
    .selectFrom('tracker_keys')
    .select(['key_digest', 'kind'])
    .where('tracker_id', '=', trackerId)
    .where('last_characters', '=', lastCharacters)
    .where('revoked_at', 'is', null)
  return (kind === null ? live : live.where('kind', '=', kind)).execute()
}

export interface KeyRevocation {
  trackerId: string
  digest: Buffer
  revokedAt: Date
}

/** True when this call revoked a live key of the tracker. */
export async function revokeKey(
  { query }: Transaction,
  { trackerId, digest, revokedAt }: KeyRevocation,
): Promise<boolean> {
  const revoked = await query
    .updateTable('tracker_keys')
    .set({ revoked_at: revokedAt })
    .where('tracker_id', '=', trackerId)
    .where('key_digest', '=', digest)
    .where('revoked_at', 'is', null)
    .returning('tracker_id')
    .executeTakeFirst()
  return revoked !== undefined
}

/** One key of one tracker. */
export interface UsedKey {
  trackerId: string
  digest: Buffer
}

/** Writes in key order, so that concurrent processes wait instead of deadlocking. */
export async function recordKeyUses(
  { pool }: Database,
  keys: readonly UsedKey[],
  usedAt: Date,
): Promise<void> {
  await pool.query({
    name: 'record-key-uses',
    text: `insert into tracker_key_uses (tracker_id, key_digest, last_used_at)
           select tracker_id, key_digest, $3::timestamptz
           from unnest($1::uuid[], $2::bytea[]) as used(tracker_id, key_digest)
           order by tracker_id, key_digest
           on conflict (tracker_id, key_digest) do update
             set last_used_at = greatest(tracker_key_uses.last_used_at, excluded.last_used_at)`,
    values: [keys.map(({ trackerId }) => trackerId), keys.map(({ digest }) => digest), usedAt],
  })
}

/** Two deletes per insert: the table shrinks to the acceptable window at a bounded cost. */
const EXPIRED_ROWS_MAX = 2

export interface ForwardedSignature {
  trackerId: string
  signature: Buffer
  forwardedAt: Date
  /** Signatures forwarded before this time have expired for every process. */
  expireBefore: Date
}

/**
 * Stores the signature of a forwarded request. False when it exists already: the request is a
 * replay, no matter which process received the first one.
 */
export async function insertForwardedSignature(
  { pool }: Database,
  { trackerId, signature, forwardedAt, expireBefore }: ForwardedSignature,
): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'insert-forwarded-signature',
    text: `with expired as (
             delete from forwarded_signatures
             where tracker_id = $1::uuid and signature in (
               select signature from forwarded_signatures
               where tracker_id = $1::uuid and forwarded_at < $4::timestamptz
               order by forwarded_at limit ${EXPIRED_ROWS_MAX} for update skip locked))
           insert into forwarded_signatures (tracker_id, signature, forwarded_at)
           values ($1::uuid, $2::bytea, $3::timestamptz)
           on conflict (tracker_id, signature) do nothing
           returning tracker_id`,
    values: [trackerId, signature, forwardedAt, expireBefore],
  })
  return rows.length === 1
}

export async function findTracker(
  { query }: Database,
  trackerId: string,
): Promise<TrackerIdentity | null> {
  const row = await query
    .selectFrom('trackers')
    .select('workspace_id')
    .where('id', '=', trackerId)
    .executeTakeFirst()
  return row ? { trackerId, workspaceId: row.workspace_id } : null
}

const LISTED_TRACKERS_MAX = 10

/** Mostly one; the oldest first. */
export async function listTrackersOfWorkspace(
  { query }: Database,
  workspaceId: number,
): Promise<TrackerIdentity[]> {
  const rows = await query
    .selectFrom('trackers')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .orderBy('id')
    .limit(LISTED_TRACKERS_MAX)
    .execute()
  return rows.map(({ id }) => ({ trackerId: id, workspaceId }))
}

/** The oldest tracker: the demo's, when `npm start` created the store. */
export async function findFirstTracker({ query }: Database): Promise<TrackerIdentity | null> {
  const row = await query
    .selectFrom('trackers')
    .select(['id', 'workspace_id'])
    .orderBy('workspace_id')
    .limit(1)
    .executeTakeFirst()
  return row ? { trackerId: row.id, workspaceId: row.workspace_id } : null
}
