import type { Database } from '../db/database.ts'
import type { CurrentPerson } from './current-person.ts'

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

export interface LiveSession {
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
): Promise<LiveSession[]> {
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

export async function deleteEndedSessions({ query }: Database, at: Date): Promise<void> {
  await query.deleteFrom('people.sessions').where('expires_at', '<=', at).execute()
}

/** Of mailed links and of social sign-in. */
export async function deleteEndedVerifications({ query }: Database, at: Date): Promise<void> {
  await query.deleteFrom('people.verifications').where('expires_at', '<=', at).execute()
}
