import type { Database, Transaction } from '../../runtime/db/database.ts'
import type { TokenKind } from '../../runtime/util/token-format.ts'
import { indexCategories } from '../consent/consent-forms.ts'
import type { CategoryMeanings } from '../consent/consent-names.ts'

/** The tracker that a key authenticates. */
export interface TrackerIdentity {
  trackerId: string
  workspaceId: number
  /** What its own consent categories mean; left out without any. Only of authenticated requests. */
  consentCategories?: CategoryMeanings
}

export interface LiveKey extends TrackerIdentity {
  /**
   * Where a publishable key may be used, as `normalizeOriginPattern` returns them. Empty for the
   * other kinds.
   */
  origins: string[]
}

/**
 * The live keys with these digests, in their order; null where there is none. On the hot path,
 * hence prepared. `limit` keeps each lookup separate, however many rows the tables have.
 */
export async function findLiveKeys(
  { pool }: Database,
  kind: TokenKind,
  digests: readonly Buffer[],
): Promise<(LiveKey | null)[]> {
  const { rows } = await pool.query({
    name: 'find-live-keys',
    text: `select given.number::integer, key.tracker_id, tracker.workspace_id, key.origins,
             tracker.consent_categories
           from unnest($1::bytea[]) with ordinality as given(key_digest, number)
           cross join lateral (
             select tracker_id, origins from tracker_keys
             where key_digest = given.key_digest and kind = $2::text and revoked_at is null
             limit 1
           ) key
           cross join lateral (
             select workspace_id, consent_categories from trackers where id = key.tracker_id limit 1
           ) tracker`,
    values: [digests, kind],
  })
  const found = new Map(rows.map(row => [row.number, row]))
  return digests.map((_, index) => {
    const row = found.get(index + 1)
    if (!row) return null
    const consentCategories = indexCategories(row.consent_categories)
    return {
      trackerId: row.tracker_id,
      workspaceId: row.workspace_id,
      origins: row.origins,
      ...(consentCategories && { consentCategories }),
    }
  })
}

/** `findLiveKeys` for one key. */
export async function findLiveKey(
  database: Database,
  kind: TokenKind,
  digest: Buffer,
): Promise<LiveKey | null> {
  const [key = null] = await findLiveKeys(database, kind, [digest])
  return key
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
