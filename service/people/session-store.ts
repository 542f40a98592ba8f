import type { Database } from '../db/database.ts'
import { DAY_MILLISECONDS } from '../util/time.ts'
import { deleteExpiredInvitations } from './invitation-store.ts'
import { hashSessionToken, readSessionToken } from './session-token.ts'

/** The signed-in person. */
export interface CurrentPerson {
  userId: number
  sessionId: number
  email: string
  name: string
  isEmailVerified: boolean
  /** The person may do nothing else first; pages and the browser API enforce it. */
  mustChangePassword: boolean
}

export interface SessionContext {
  database: Database
  now: () => Date
  publicOrigin: () => string
}

/**
 * Returns the person of the session cookie. Returns null without a live session, or when the
 * person is disabled. One statement and no cache, so revoking and disabling apply immediately.
 */
export async function findCurrentPerson(
  { database, now, publicOrigin }: SessionContext,
  headers: { cookie?: string | undefined },
): Promise<CurrentPerson | null> {
  const token = readSessionToken(headers.cookie, publicOrigin())
  return token === null ? null : findSession(database, hashSessionToken(token), now())
}

/** Returns the person of a live session; null when it expired or the person is disabled. */
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

/** Ends one session. Returns false when the person has none with this ID. */
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

/** Ends all sessions of a person, except one if given. */
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

/** The state of emailed links and of social sign-in. */
async function deleteExpiredVerifications({ query }: Database, at: Date): Promise<void> {
  await query.deleteFrom('people.verifications').where('expires_at', '<=', at).execute()
}

const INVITATION_RETENTION_DAYS = 30

/**
 * Deletes expired sessions, emailed links and invitations. Expired records are already ignored
 * before they are deleted, so the schedule does not matter.
 */
export async function deleteExpiredPeopleRecords(database: Database, at: Date): Promise<void> {
  await deleteExpiredSessions(database, at)
  await deleteExpiredVerifications(database, at)
  const before = new Date(at.getTime() - INVITATION_RETENTION_DAYS * DAY_MILLISECONDS)
  await deleteExpiredInvitations(database, before)
}
