import type { Database, Transaction } from '../../runtime/db/database.ts'
import type { TokenKind } from '../../runtime/util/token-format.ts'
import { selectPages, type TrackerIdentity, toSubmissionRules } from './tracker-store.ts'

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

/** A key as people see it. */
export interface TrackerKey {
  /** See `toKeyId`. */
  id: string
  kind: TokenKind
  lastCharacters: string
  origins: string[]
  createdAt: Date
  lastUsedAt: Date | null
  revokedAt: Date | null
}

/** The digest stays in the service. */
export interface StoredKey extends TrackerKey {
  digest: Buffer
}

/** `toKeyId` in SQL. */
const KEY_ID = `left(encode(sha256(keys.key_digest), 'hex'), 24)`

const SELECT_KEYS = `
  select ${KEY_ID} as id, keys.key_digest, keys.kind, keys.last_characters, keys.origins,
    keys.created_at, uses.last_used_at, keys.revoked_at
  from tracker_keys keys left join tracker_key_uses uses
    on uses.tracker_id = $1::uuid and uses.key_digest = keys.key_digest
  where keys.tracker_id = $1::uuid`

const KEYS_LISTED_MAX = 200

/** The keys of a tracker, live and revoked, newest first. */
export async function listKeys({ pool }: Database, trackerId: string): Promise<StoredKey[]> {
  const { rows } = await pool.query(
    `${SELECT_KEYS} order by keys.created_at desc, keys.kind limit ${KEYS_LISTED_MAX}`,
    [trackerId],
  )
  return rows.map(toStoredKey)
}

/** Two of each kind; more only where an earlier version issued them at the same time. */
const LIVE_KEYS_LISTED_MAX = 50

/** The live keys of a tracker by kind, oldest first. */
export async function listLiveKeys({ pool }: Database, trackerId: string): Promise<StoredKey[]> {
  const { rows } = await pool.query({
    name: 'list-live-keys',
    text: `${SELECT_KEYS} and keys.revoked_at is null
           order by keys.kind, keys.created_at, id limit ${LIVE_KEYS_LISTED_MAX}`,
    values: [trackerId],
  })
  return rows.map(toStoredKey)
}

/** The last key of a page. */
export interface KeyPosition {
  revokedAt: Date
  id: string
}

interface RevokedKeys {
  trackerId: string
  /** Null for the first page. */
  after: KeyPosition | null
  limit: number
}

/** A page of the revoked keys of a tracker, the last revoked one first. */
export async function listRevokedKeys(
  { pool }: Database,
  { trackerId, after, limit }: RevokedKeys,
): Promise<StoredKey[]> {
  const { rows } = await pool.query({
    name: 'list-revoked-keys',
    text: `${SELECT_KEYS} and keys.revoked_at is not null
             and ($2::timestamptz is null or (keys.revoked_at, ${KEY_ID})
               < ($2::timestamptz, $3::text))
           order by keys.revoked_at desc, id desc limit $4::integer`,
    values: [trackerId, after?.revokedAt ?? null, after?.id ?? null, limit],
  })
  return rows.map(toStoredKey)
}

/** A key of a tracker by its ID, live or revoked; null when it has none. */
export async function findKey(
  { pool }: Database,
  trackerId: string,
  keyId: string,
): Promise<StoredKey | null> {
  const { rows } = await pool.query({
    name: 'find-key',
    text: `${SELECT_KEYS} and ${KEY_ID} = $2::text`,
    values: [trackerId, keyId],
  })
  return rows[0] ? toStoredKey(rows[0]) : null
}

function toStoredKey(row: KeyRow): StoredKey {
  return {
    id: row.id,
    digest: row.key_digest,
    kind: row.kind,
    lastCharacters: row.last_characters,
    origins: row.origins,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  }
}

interface KeyRow {
  id: string
  key_digest: Buffer
  kind: TokenKind
  last_characters: string
  origins: string[]
  created_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
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
             tracker.consent_categories, pages.has_pages
           from unnest($1::bytea[]) with ordinality as given(key_digest, number)
           cross join lateral (
             select tracker_id, origins from tracker_keys
             where key_digest = given.key_digest and kind = $2::text and revoked_at is null
             limit 1
           ) key
           cross join lateral (
             select workspace_id, consent_categories from trackers where id = key.tracker_id limit 1
           ) tracker
           left join lateral (${selectPages('key.tracker_id')}) pages on true`,
    values: [digests, kind],
  })
  const found = new Map(rows.map(row => [row.number, row]))
  return digests.map((_, index) => {
    const row = found.get(index + 1)
    if (!row) return null
    const { tracker_id: trackerId, workspace_id: workspaceId } = row
    return { trackerId, workspaceId, origins: row.origins, ...toSubmissionRules(row) }
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

/** The live keys of one kind, oldest first, for those who authenticate or limit them. */
export async function listLiveDigests(
  { query }: Transaction,
  trackerId: string,
  kind: TokenKind,
): Promise<Buffer[]> {
  const rows = await query
    .selectFrom('tracker_keys')
    .select('key_digest')
    .where('tracker_id', '=', trackerId)
    .where('kind', '=', kind)
    .where('revoked_at', 'is', null)
    .orderBy('created_at')
    .execute()
  return rows.map(row => row.key_digest)
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

export interface KeyOwner {
  trackerId: string
  kind: TokenKind
  isRevoked: boolean
}

/**
 * The trackers of keys, live and revoked, by the digest of the key in base64. A digest that is no
 * key of a tracker is missing. For counting refused requests, never for authenticating one.
 */
export async function findKeyOwners(
  { pool }: Pick<Database, 'pool'>,
  digests: readonly string[],
): Promise<Map<string, KeyOwner>> {
  if (digests.length === 0) return new Map()
  const { rows } = await pool.query({
    name: 'find-key-owners',
    text: `select key_digest, tracker_id, kind, revoked_at is not null as is_revoked
           from tracker_keys where key_digest = any($1::bytea[])`,
    values: [digests.map(digest => Buffer.from(digest, 'base64'))],
  })
  return new Map(
    rows.map(row => [
      row.key_digest.toString('base64'),
      { trackerId: row.tracker_id, kind: row.kind, isRevoked: row.is_revoked },
    ]),
  )
}
