import type { Database } from '../../runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { deleteUnapprovedClients } from './client-store.ts'

/** State of the authorization server, stored under the digest of what a caller presents. */
interface Artifact {
  model: string
  id: string
  /** JSON, without the value whose digest is `id`. */
  payload: string
  grantId: string | null
  /** Also a digest. */
  userCode: string | null
  uid: string | null
  expiresAt: Date
}

export interface FoundArtifact {
  id: string
  payload: Record<string, unknown>
  consumedAt: Date | null
}

/** Inserts or updates an artifact. It stays consumed and keeps its user code. */
export async function saveArtifact({ pool }: Database, artifact: Artifact): Promise<void> {
  await pool.query({
    name: 'save-oauth-artifact',
    text: `insert into oauth_artifacts (model, id, payload, grant_id, user_code, uid, expires_at)
           values ($1::text, $2::text, $3::jsonb, $4::text, $5::text, $6::text, $7::timestamptz)
           on conflict (model, id) do update set
             payload = excluded.payload,
             grant_id = excluded.grant_id,
             user_code = coalesce(excluded.user_code, oauth_artifacts.user_code),
             uid = excluded.uid,
             expires_at = excluded.expires_at`,
    values: [
      artifact.model,
      artifact.id,
      artifact.payload,
      artifact.grantId,
      artifact.userCode,
      artifact.uid,
      artifact.expiresAt,
    ],
  })
}

/** Finds an artifact by ID, user code or uid, all digests. Includes expired ones. */
export async function findArtifact(
  { pool }: Database,
  model: string,
  by: { id: string } | { userCode: string } | { uid: string },
): Promise<FoundArtifact | null> {
  const [column, value] =
    'id' in by ? ['id', by.id] : 'uid' in by ? ['uid', by.uid] : ['user_code', by.userCode]
  const { rows } = await pool.query({
    name: `find-oauth-artifact-by-${column}`,
    text: `select id, payload, consumed_at from oauth_artifacts
           where model = $1::text and ${column} = $2::text`,
    values: [model, value],
  })
  const row = rows[0]
  return row ? { id: row.id, payload: row.payload, consumedAt: row.consumed_at } : null
}

/** Marks a one-time artifact as used. Returns true for exactly one of several concurrent calls. */
export async function consumeArtifact(
  { pool }: Database,
  { model, id, at }: { model: string; id: string; at: Date },
): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'consume-oauth-artifact',
    text: `update oauth_artifacts set consumed_at = $3::timestamptz
           where model = $1::text and id = $2::text and consumed_at is null
           returning id`,
    values: [model, id, at],
  })
  return rows.length === 1
}

export async function deleteArtifact(
  { query }: Database,
  model: string,
  id: string,
): Promise<void> {
  await query
    .deleteFrom('oauth_artifacts')
    .where('model', '=', model)
    .where('id', '=', id)
    .execute()
}

/** Deletes all artifacts of one model that belong to a grant. */
export async function deleteGrantArtifacts(
  { query }: Database,
  model: string,
  grantId: string,
): Promise<void> {
  await query
    .deleteFrom('oauth_artifacts')
    .where('model', '=', model)
    .where('grant_id', '=', grantId)
    .execute()
}

interface DevicePoll {
  /** The digest of a device code. */
  id: string
  at: Date
  intervalSeconds: number
}

/**
 * Records that a client polled for the tokens of a device code, and returns whether it was too
 * early. If so, its interval grows (RFC 8628, section 3.5).
 */
export async function recordDevicePoll(
  { pool }: Database,
  { id, at, intervalSeconds }: DevicePoll,
): Promise<{ isTooEarly: boolean }> {
  const { rows } = await pool.query({
    name: 'note-oauth-poll',
    text: `with before as (
             select id, polled_at > $2::timestamptz - poll_seconds * interval '1 second' as early
             from oauth_artifacts where model = 'DeviceCode' and id = $1::text for update
           )
           update oauth_artifacts device set
             polled_at = $2::timestamptz,
             poll_seconds = coalesce(poll_seconds, $3::integer)
               + case when before.early then $3::integer else 0 end
           from before where device.model = 'DeviceCode' and device.id = before.id
           returning coalesce(before.early, false) as early`,
    values: [id, at, intervalSeconds],
  })
  return { isTooEarly: rows[0]?.early === true }
}

/** A client that is not approved in this time is abandoned. */
const UNAPPROVED_DAYS = 30
/** Expired artifacts are kept for a day, so that their callers learn that they expired. */
const EXPIRED_DAYS = 1

interface DeletedOauthRecords {
  artifacts: number
  clients: number
}

/** Deletes expired artifacts and unapproved clients. Safe to run concurrently. */
export async function deleteExpiredOauthRecords(
  database: Database,
  at: Date,
): Promise<DeletedOauthRecords> {
  const daysAgo = (days: number) => new Date(at.getTime() - days * DAY_MILLISECONDS)
  return {
    artifacts: await deleteExpiredArtifacts(database, daysAgo(EXPIRED_DAYS)),
    clients: await deleteUnapprovedClients(database, daysAgo(UNAPPROVED_DAYS)),
  }
}

/**
 * Deletes artifacts that expired before a time and returns their number. A used refresh token stays
 * until it expires, so that a stolen copy is still recognized.
 */
async function deleteExpiredArtifacts({ query }: Database, expiredBefore: Date): Promise<number> {
  const deleted = await query
    .with('gone', part =>
      part.deleteFrom('oauth_artifacts').where('expires_at', '<', expiredBefore).returning('id'),
    )
    .selectFrom('gone')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return deleted.count
}
