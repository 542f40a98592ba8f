import type { Database, Transaction } from '../../runtime/db/database.ts'
import type { TokenKind } from '../../runtime/util/token-format.ts'

/** Held until the transaction ends: two requests must not both issue the last key of a kind. */
export async function lockTracker({ query }: Transaction, trackerId: string): Promise<void> {
  await query.selectFrom('trackers').select('id').where('id', '=', trackerId).forUpdate().execute()
}

const KEYS_LISTED_MAX = 200

/** A tracker's keys, live and revoked, newest first. */
export async function listKeys({ query }: Database, trackerId: string) {
  return query
    .selectFrom('tracker_keys as keys')
    .leftJoin('tracker_key_uses as uses', join =>
      join.on('uses.tracker_id', '=', trackerId).onRef('uses.key_digest', '=', 'keys.key_digest'),
    )
    .select(['kind', 'last_characters', 'created_at', 'last_used_at', 'revoked_at', 'origins'])
    .where('keys.tracker_id', '=', trackerId)
    .orderBy('created_at', 'desc')
    .orderBy('kind')
    .limit(KEYS_LISTED_MAX)
    .execute()
}
export type ListedKey = Awaited<ReturnType<typeof listKeys>>[number]

/** A key as people see it; the digest stays in the service. */
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

/** `toKeyId` in SQL. */
const KEY_ID = `left(encode(sha256(keys.key_digest), 'hex'), 24)`

const SELECT_KEYS = `
  select ${KEY_ID} as id, keys.kind, keys.last_characters, keys.origins, keys.created_at,
    uses.last_used_at, keys.revoked_at
  from tracker_keys keys left join tracker_key_uses uses
    on uses.tracker_id = $1::uuid and uses.key_digest = keys.key_digest
  where keys.tracker_id = $1::uuid`

/** Two of each kind; more only where an earlier version issued them at the same time. */
const LIVE_KEYS_LISTED_MAX = 50

/** The live keys of a tracker by kind, oldest first. */
export async function listLiveTrackerKeys(
  { pool }: Database,
  trackerId: string,
): Promise<TrackerKey[]> {
  const { rows } = await pool.query({
    name: 'list-live-tracker-keys',
    text: `${SELECT_KEYS} and keys.revoked_at is null
           order by keys.kind, keys.created_at, id limit ${LIVE_KEYS_LISTED_MAX}`,
    values: [trackerId],
  })
  return rows.map(toTrackerKey)
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
export async function listRevokedTrackerKeys(
  { pool }: Database,
  { trackerId, after, limit }: RevokedKeys,
): Promise<TrackerKey[]> {
  const { rows } = await pool.query({
    name: 'list-revoked-tracker-keys',
    text: `${SELECT_KEYS} and keys.revoked_at is not null
             and ($2::timestamptz is null or (keys.revoked_at, ${KEY_ID})
               < ($2::timestamptz, $3::text))
           order by keys.revoked_at desc, id desc limit $4::integer`,
    values: [trackerId, after?.revokedAt ?? null, after?.id ?? null, limit],
  })
  return rows.map(toTrackerKey)
}

/** A key of a tracker by its ID, live or revoked, with its digest; null when it has none. */
export async function findTrackerKey(
  { pool }: Database,
  trackerId: string,
  keyId: string,
): Promise<(TrackerKey & { digest: Buffer }) | null> {
  const { rows } = await pool.query({
    name: 'find-tracker-key',
    text: `${SELECT_KEYS.replace('keys.kind', 'keys.key_digest, keys.kind')}
             and ${KEY_ID} = $2::text`,
    values: [trackerId, keyId],
  })
  const [row] = rows
  return row ? { ...toTrackerKey(row), digest: row.key_digest } : null
}

/**
 * The latest time for which a forwarder of the tracker signed a request with a valid signature;
 * null when none is kept. Signatures are kept for a quarter of an hour or longer.
 */
export async function findLastForwarding(
  { pool }: Database,
  trackerId: string,
): Promise<Date | null> {
  const { rows } = await pool.query({
    name: 'find-last-forwarding',
    text: `select forwarded_at from forwarded_signatures where tracker_id = $1::uuid
           order by forwarded_at desc limit 1`,
    values: [trackerId],
  })
  return rows[0]?.forwarded_at ?? null
}

function toTrackerKey(row: KeyRow): TrackerKey {
  return {
    id: row.id,
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
  kind: TokenKind
  last_characters: string
  origins: string[]
  created_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
}
