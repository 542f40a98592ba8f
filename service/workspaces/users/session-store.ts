import type { Database } from '../../runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { deleteExpiredInvitations } from './invitation-store.ts'
import { deleteUsedTotpCodes } from './second-factor-store.ts'
import { hashSessionToken, readSessionToken, SESSION_IDLE_DAYS } from './session-token.ts'

/** The signed-in user. */
export interface CurrentUser {
  userId: number
  sessionId: number
  email: string
  name: string
  isEmailVerified: boolean
  /** The user may do nothing else first; pages and the browser API enforce it. */
  mustChangePassword: boolean
  /** When the user last confirmed their identity in this session: at first, by signing in. */
  authenticatedAt: Date
  /** When this session last used a second factor; null if it never did. */
  secondFactorAt: Date | null
  /** The user has an authenticator app or a passkey, used in this session or not. */
  hasSecondFactor: boolean
}

export interface SessionContext {
  database: Database
  now: () => Date
  publicOrigin: () => string
}

/**
 * Returns the user of the session cookie. Returns null without a live session, or when the
 * user is disabled. No cache, so revoking and disabling apply immediately.
 */
export async function findCurrentUser(
  { database, now, publicOrigin }: SessionContext,
  headers: { cookie?: string | undefined },
): Promise<CurrentUser | null> {
  const token = readSessionToken(headers.cookie, publicOrigin())
  return token === null ? null : findSession(database, hashSessionToken(token), now())
}

/**
 * Returns the user of a live session. Null when it expired, when it still awaits a second factor,
 * or when the user is disabled.
 */
export async function findSession(
  { query }: Database,
  tokenDigest: string,
  at: Date,
): Promise<CurrentUser | null> {
  const row = await selectLiveSessions(query, at)
    .where('session.token', '=', tokenDigest)
    .where('session.awaits_second_factor', '=', false)
    .executeTakeFirst()
  if (!row) return null
  await recordSessionUse({ query }, row.session_id, at)
  return toCurrentUser(row)
}

/** Returns the user of a session that opens nothing but the page that asks for a code. */
export async function findHeldSession(
  { database, now, publicOrigin }: SessionContext,
  headers: { cookie?: string | undefined },
): Promise<CurrentUser | null> {
  const token = readSessionToken(headers.cookie, publicOrigin())
  if (token === null) return null
  const row = await selectLiveSessions(database.query, now())
    .where('session.token', '=', hashSessionToken(token))
    .where('session.awaits_second_factor', '=', true)
    .executeTakeFirst()
  return row ? toCurrentUser(row) : null
}

/**
 * The people of those sessions that are still live, by session. Not recorded as a use: a page that
 * is left open does not prolong its session.
 */
export async function findLiveSessions(
  { query }: Pick<Database, 'query'>,
  sessionIds: readonly number[],
  at: Date,
): Promise<Map<number, CurrentUser>> {
  if (sessionIds.length === 0) return new Map()
  const rows = await selectLiveSessions(query, at)
    .where('session.id', 'in', sessionIds)
    .where('session.awaits_second_factor', '=', false)
    .execute()
  return new Map(rows.map(row => [row.session_id, toCurrentUser(row)]))
}

function selectLiveSessions(query: Database['query'], at: Date) {
  return query
    .selectFrom('people.sessions as session')
    .innerJoin('people.users as person', 'person.id', 'session.user_id')
    .select(['session.id as session_id', 'session.user_id', 'person.email', 'person.name'])
    .select(['person.email_verified', 'person.must_change_password', 'person.two_factor_enabled'])
    .select(['session.created_at', 'session.authenticated_at', 'session.second_factor_at'])
    .select(({ exists, selectFrom }) =>
      exists(
        selectFrom('people.passkeys as passkey')
          .select('passkey.id')
          .whereRef('passkey.user_id', '=', 'session.user_id'),
      ).as('has_passkey'),
    )
    .where('session.expires_at', '>', at)
    .where('session.updated_at', '>', idleSince(at))
    .where('person.status', '=', 'active')
}

type SessionRow = NonNullable<
  Awaited<ReturnType<ReturnType<typeof selectLiveSessions>['executeTakeFirst']>>
>

function toCurrentUser(row: SessionRow): CurrentUser {
  return {
    userId: row.user_id,
    sessionId: row.session_id,
    email: row.email,
    name: row.name,
    isEmailVerified: row.email_verified,
    mustChangePassword: row.must_change_password,
    authenticatedAt: row.authenticated_at ?? row.created_at,
    secondFactorAt: row.second_factor_at,
    hasSecondFactor: row.two_factor_enabled || row.has_passkey === true,
  }
}

/** Sessions that were last used before then have ended. */
function idleSince(at: Date): Date {
  return new Date(at.getTime() - SESSION_IDLE_DAYS * DAY_MILLISECONDS)
}

const USE_RECORDED_SECONDS = 300

/** Not on every request: a session that is in use writes once in some minutes. */
async function recordSessionUse(
  { query }: Pick<Database, 'query'>,
  sessionId: number,
  at: Date,
): Promise<void> {
  await query
    .updateTable('people.sessions')
    .set({ updated_at: at })
    .where('id', '=', sessionId)
    .where('updated_at', '<', new Date(at.getTime() - USE_RECORDED_SECONDS * 1_000))
    .execute()
}

/** Makes a new session wait for a second factor, until `expiresAt`. */
export async function holdSession(
  { query }: Database,
  sessionId: number,
  expiresAt: Date,
): Promise<void> {
  await query
    .updateTable('people.sessions')
    .set({ awaits_second_factor: true, expires_at: expiresAt })
    .where('id', '=', sessionId)
    .execute()
}

interface SessionRenewal {
  sessionId: number
  tokenDigest: string
  at: Date
  expiresAt: Date
  isSecondFactorUsed: boolean
}

interface NewSession extends Pick<SessionRenewal, 'tokenDigest' | 'at' | 'expiresAt'> {
  userId: number
  userAgent: string | null
  authenticatedAt: Date
}

export async function insertSession({ query }: Database, session: NewSession): Promise<void> {
  const row = {
    user_id: session.userId,
    token: session.tokenDigest,
    user_agent: session.userAgent,
    created_at: session.at,
    updated_at: session.at,
    expires_at: session.expiresAt,
    authenticated_at: session.authenticatedAt,
  }
  await query.insertInto('people.sessions').values(row).execute()
}

/**
 * Gives a session another token after the user confirmed their identity, so that a thief
 * of the earlier token gains nothing. Returns false when the session has ended.
 */
export async function renewSession(
  { query }: Pick<Database, 'query'>,
  { sessionId, tokenDigest, at, expiresAt, isSecondFactorUsed }: SessionRenewal,
): Promise<boolean> {
  const renewed = await query
    .updateTable('people.sessions')
    .set({
      token: tokenDigest,
      authenticated_at: at,
      updated_at: at,
      expires_at: expiresAt,
      awaits_second_factor: false,
      ...(isSecondFactorUsed && { second_factor_at: at }),
    })
    .where('id', '=', sessionId)
    .returning('id')
    .executeTakeFirst()
  return renewed !== undefined
}

/** For a user who has no second factor any more. */
export async function clearSecondFactorUse({ query }: Database, userId: number): Promise<void> {
  await query
    .updateTable('people.sessions')
    .set({ second_factor_at: null })
    .where('user_id', '=', userId)
    .execute()
}

export interface ActiveSession {
  id: number
  createdAt: Date
  expiresAt: Date
  userAgent: string | null
}

const SESSIONS_LISTED_MAX = 100

/** Newest first. */
export async function listSessions(
  { query }: Database,
  userId: number,
  at: Date,
): Promise<ActiveSession[]> {
  const rows = await query
    .selectFrom('people.sessions')
    .select(['id', 'created_at', 'expires_at', 'user_agent'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', at)
    .where('updated_at', '>', idleSince(at))
    .where('awaits_second_factor', '=', false)
    .orderBy('id', 'desc')
    .limit(SESSIONS_LISTED_MAX)
    .execute()
  return rows.map(row => ({
    id: row.id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    userAgent: row.user_agent,
  }))
}

/** Ends one session. Returns false when the user has none with this ID. */
export async function deleteSession(
  { query }: Database,
  userId: number,
  sessionId: number,
): Promise<boolean> {
  const found = await query
    .deleteFrom('people.sessions')
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .returning('id')
    .executeTakeFirst()
  return found !== undefined
}

/** Ends all sessions of a user, except one if given. */
export async function deleteSessions(
  { query }: Pick<Database, 'query'>,
  userId: number,
  exceptSessionId: number | null = null,
): Promise<void> {
  const all = query.deleteFrom('people.sessions').where('user_id', '=', userId)
  await (exceptSessionId === null ? all : all.where('id', '<>', exceptSessionId)).execute()
}

const INVITATION_RETENTION_DAYS = 30

/**
 * Deletes expired sessions, emailed links, states of social sign-in, and invitations. Expired
 * records are already ignored before they are deleted, so the schedule does not matter.
 */
export async function deleteExpiredUserRecords(database: Database, at: Date): Promise<void> {
  const { query } = database
  await query
    .deleteFrom('people.sessions')
    .where(({ or, eb }) => or([eb('expires_at', '<=', at), eb('updated_at', '<=', idleSince(at))]))
    .execute()
  await query.deleteFrom('people.verifications').where('expires_at', '<=', at).execute()
  await deleteUsedTotpCodes(database, at)
  const before = new Date(at.getTime() - INVITATION_RETENTION_DAYS * DAY_MILLISECONDS)
  await deleteExpiredInvitations(database, before)
}
