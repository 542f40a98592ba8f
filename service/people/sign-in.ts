import { parseEmailAddress } from './account-fields.ts'
import { limitAccountAttempts, type PeopleContext } from './people-context.ts'
import { deleteSession, findSession } from './session-store.ts'
import { hashSessionToken } from './session-token.ts'

export interface SignInAttempt {
  email: string
  password: string
  userAgent: string | undefined
}

/** `refused` says nothing of why: whether the account exists is nobody's business. */
export type SignInOutcome =
  | { outcome: 'signed_in'; token: string }
  | { outcome: 'refused' }
  | {
      outcome: 'unverified'
    }

/**
 * Signs in by address and password. An unknown address costs the time of one password too (the
 * library hashes it), and only the right password hears that its address is not confirmed yet.
 * Throws a 429 when the account was tried too often.
 */
export async function signIn(
  context: PeopleContext,
  { email: given, password, userAgent }: SignInAttempt,
): Promise<SignInOutcome> {
  const email = parseEmailAddress(given)
  if (email === null || password === '') return { outcome: 'refused' }
  limitAccountAttempts(context, email)
  const { api } = await context.authLibrary()
  try {
    const answer = await api.signInEmail({
      body: { email, password },
      headers: userAgentHeaders(userAgent),
    })
    return verifyNewSession(context, answer.token)
  } catch (error) {
    const code = readAuthErrorCode(error)
    if (code === 'EMAIL_NOT_VERIFIED') return { outcome: 'unverified' }
    if (code === null) throw error
    return { outcome: 'refused' }
  }
}

/**
 * A disabled person gets a session from the library; it opens nothing, and they hear no more. A
 * provider may vouch for somebody whose address it has not confirmed: their session ends at once.
 */
export async function verifyNewSession(
  { database, now }: PeopleContext,
  token: string,
): Promise<SignInOutcome> {
  const person = await findSession(database, hashSessionToken(token), now())
  if (!person) return { outcome: 'refused' }
  if (person.isEmailVerified) return { outcome: 'signed_in', token }
  await deleteSession(database, person.userId, person.sessionId)
  return { outcome: 'unverified' }
}

const AGENT_CHARACTERS_MAX = 300

/** What the library keeps with a session; nothing else of a request concerns it. */
export function userAgentHeaders(userAgent: string | undefined): Headers {
  return new Headers({ 'user-agent': (userAgent ?? '').slice(0, AGENT_CHARACTERS_MAX) })
}

/** The code of a refusal of the library, such as INVALID_TOKEN; null for every other error. */
export function readAuthErrorCode(error: unknown): string | null {
  if (!(error instanceof Error) || error.name !== 'APIError') return null
  const { body, statusCode } = error as Error & { body?: { code?: string }; statusCode?: number }
  return (statusCode ?? 500) >= 500 ? null : (body?.code ?? 'UNKNOWN')
}
