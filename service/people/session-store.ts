import type { Database } from '../db/database.ts'
import { deleteExpiredInvitations } from './invitation-store.ts'
import { hashSessionToken, readSessionToken } from './session-token.ts'

/** Who is signed in. */
export interface CurrentPerson {
  userId: number
  sessionId: number
  email: string
  name: string
  isEmailVerified: boolean
  /** Until then they may do nothing else; pages and the browser's interface hold them to it. */
  mustChangePassword: boolean
}

export interface SessionContext {
  database: Database
  now: () => Date
  publicOrigin: () => string
}

/**
 * The seam to everything that asks who is there: the person of the session in the cookie, or null
 * when there is none, it ended or was revoked, or the person is disabled. One statement; nothing is
 * remembered, so that revoking and disabling work at once.
 */
export async function findCurrentPerson(
  { database, now, publicOrigin }: SessionContext,
  headers: { cookie?: string | undefined },
): Promise<CurrentPerson | null> {
  const token = readSessionToken(headers.cookie, publicOrigin())
  return token === null ? null : findSession(database, hashSessionToken(token), now())
}

/** Whose live session this is; null when it ended, or when the person is disabled. */
export async function findSession(
  { query }: Database,
  tokenDigest: string,
  at: Date,
): Promise<CurrentPerson | null> {
  const row = await query
    .selectFrom('people.sessions as session')
    .innerJoin('people.users as person', 'person.id', 'session.user_id')
    .select(['session.id as session_id', 'session.user_id', 'person.email', 'person.name'])
    .select(['person.email_verified', 'person.must_change_password'])
    .where('session.token', '=', tokenDigest)
    .where('session.expires_at', '>', at)
    .where('person.status', '=', 'active')
    .executeTakeFirst()
  if (!row) return null
  return {
    userId: row.user_id,
    sessionId: row.session_id,
    email: row.email,
    name: row.name,
    isEmailVerified: row.email_verified,
    mustChangePassword: row.must_change_password,
  }
}

export interface ActiveSession {
  id: number
  createdAt: Date
  expiresAt: Date
  userAgent: string | null
}

const SESSIONS_LISTED_MAX = 100

/** The newest first. */
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

/** Ends one session of this person; false when there is none of theirs with this id. */
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

/** Ends all sessions of a person, but for the one that may stay. */
export async function deleteSessions(
  { query }: Pick<Database, 'query'>,
  userId: number,
  exceptSessionId: number | null = null,
): Promise<void> {
  const all = query.deleteFrom('people.sessions').where('user_id', '=', userId)
  await (exceptSessionId === null ? all : all.where('id', '<>', exceptSessionId)).execute()
}

async function deleteExpiredSessions({ query }: Database, at: Date): Promise<void> {
  await query.deleteFrom('people.sessions').where('expires_at', '<=', at).execute()
}

/** Of mailed links and of social sign-in. */
async function deleteExpiredVerifications({ query }: Database, at: Date): Promise<void> {
  await query.deleteFrom('people.verifications').where('expires_at', '<=', at).execute()
}

const INVITATION_RETENTION_DAYS = 30

/**
 * Removes what is over: sessions, mailed links, and invitations that nobody can answer any more. To
 * be called now and then; whatever is over counts for nothing before it is removed.
 */
export async function deleteExpiredPeopleRecords(database: Database, at: Date): Promise<void> {
  await deleteExpiredSessions(database, at)
  await deleteExpiredVerifications(database, at)
  const before = new Date(at.getTime() - INVITATION_RETENTION_DAYS * 86_400_000)
  await deleteExpiredInvitations(database, before)
}
