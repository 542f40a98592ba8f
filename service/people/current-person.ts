import type { Database } from '../db/database.ts'
import { sessionTokenDigest, sessionTokenOf } from './session-cookie.ts'
import { findSession } from './session-store.ts'

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
export async function currentPerson(
  { database, now, publicOrigin }: SessionContext,
  headers: { cookie?: string | undefined },
): Promise<CurrentPerson | null> {
  const token = sessionTokenOf(headers.cookie, publicOrigin())
  return token === null ? null : findSession(database, sessionTokenDigest(token), now())
}
