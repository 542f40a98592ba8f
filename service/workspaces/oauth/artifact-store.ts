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

/** Why a refresh token may not be used; null if it may. */
type RefreshRefusal = 'used_too_often' | 'used_twice'

/** A client that lost the response, or refreshes in parallel, may repeat for so long, so often. */
const REPEAT_SECONDS = 10
const REPEATS_MAX = 3
/** A used token outlives the tokens that it was exchanged for, so that reuse is recognized. */
const USED_DAYS = 31

/**
 * Uses a refresh token, with a decision that is right for concurrent calls. Within ten seconds it
 * can be exchanged three times. The first use of one of the new tokens ends the others and their
 * access tokens: it writes itself into `usedChild` of the token that they came from
 * (`rotatedFrom`), which only one can. Any use after that is a reuse by someone who has a copy.
 */
export async function useRefreshToken(
  database: Database,
  { id, at }: { id: string; at: Date },
): Promise<RefreshRefusal | null> {
  const { rows } = await database.pool.query({
    name: 'use-refresh-token',
    text: `with self as (
             select id, grant_id, payload->>'rotatedFrom' as parent_id
             from oauth_artifacts where model = 'RefreshToken' and id = $1::text
           ), parent as (
             select artifact.id
             from oauth_artifacts artifact join self on self.parent_id = artifact.id
             where artifact.model = 'RefreshToken'
           ), claimed as (
             update oauth_artifacts artifact
             set payload = artifact.payload || jsonb_build_object('usedChild', self.id)
             from self where artifact.model = 'RefreshToken' and artifact.id = self.parent_id
               and coalesce(artifact.payload->>'usedChild', self.id) = self.id
             returning (artifact.payload->>'uses')::integer > 1 as has_siblings
           ), ended as (
             delete from oauth_artifacts artifact using self, claimed
             where artifact.model = 'AccessToken' and artifact.grant_id = self.grant_id
               and claimed.has_siblings
           )
           update oauth_artifacts token set
             consumed_at = coalesce(token.consumed_at, $2::timestamptz),
             payload = token.payload || jsonb_build_object('uses', ${USES} + 1),
             expires_at = greatest(
               token.expires_at, $2::timestamptz + ${USED_DAYS} * interval '1 day')
           from self where token.model = 'RefreshToken' and token.id = self.id
             and (exists (select 1 from claimed) or not exists (select 1 from parent))
             and (token.consumed_at is null
               or ${IS_REPEATABLE} and ${USES} < ${REPEATS_MAX})
           returning token.id`,
    values: [id, at],
  })
  return rows.length === 1 ? null : findRefreshRefusal(database, { id, at })
}

/** Tokens that an earlier version used have no number. */
const USES = `coalesce((token.payload->>'uses')::integer,
  case when token.consumed_at is null then 0 else 1 end)`
const IS_REPEATABLE = `(not token.payload ? 'usedChild' and token.consumed_at
  >= $2::timestamptz - ${REPEAT_SECONDS} * interval '1 second')`

async function findRefreshRefusal(
  { pool }: Database,
  { id, at }: { id: string; at: Date },
): Promise<RefreshRefusal> {
  const { rows } = await pool.query({
    name: 'find-refresh-refusal',
    text: `select ${IS_REPEATABLE} as repeatable from oauth_artifacts token
           where model = 'RefreshToken' and id = $1::text`,
    values: [id, at],
  })
  return rows[0]?.repeatable === true ? 'used_too_often' : 'used_twice'
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
