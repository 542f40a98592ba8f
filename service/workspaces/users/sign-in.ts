import { limitAttempts } from './attempt-limits.ts'
import { createPasswordHash, isPasswordHashOutdated } from './password-hash.ts'
import { hasAuthenticatorApp } from './second-factor-store.ts'
import { deleteSession, findSession, holdSession, renewSession } from './session-store.ts'
import { createSessionToken, hashSessionToken, sessionExpiry } from './session-token.ts'
import { parseEmailAddress } from './user-input.ts'
import { findPasswordHash, findUserByEmail, replacePasswordHash } from './user-store.ts'
import type { UsersContext } from './users-context.ts'

interface SignInCredentials {
  email: string
  password: string
  userAgent: string | undefined
}

interface SignInAttempt extends SignInCredentials {
  /** The Cookie header, which tells a known device. */
  cookie: string | undefined
}

/** `refused` gives no reason, so that it does not reveal whether the account exists. */
export type SignInOutcome = NewSession | { outcome: 'refused' } | { outcome: 'unverified' }

/** The token of a session, which may open nothing until a second factor was used. */
export interface NewSession {
  outcome: 'signed_in' | 'second_factor_required'
  token: string
}

/**
 * Signs in by address and password. An unknown address takes as long as a known one, because the
 * library hashes the password anyway. Only the correct password learns that the address is
 * unverified. Throws a 429 after too many attempts on one account.
 */
export async function signIn(
  context: UsersContext,
  { password, userAgent, cookie, ...attempt }: SignInAttempt,
): Promise<SignInOutcome> {
  const email = parseEmailAddress(attempt.email)
  if (email === null || password === '') return { outcome: 'refused' }
  await limitAttempts(context, { purpose: 'sign_in', email, cookie })
  return startSession(context, { email, password, userAgent })
}

/** As `signIn`, for a password that another limit has counted. */
export async function startSession(
  context: UsersContext,
  { email, password, userAgent }: SignInCredentials,
): Promise<SignInOutcome> {
  const { api } = await context.authLibrary()
  try {
    const answer = await api.signInEmail({
      body: { email, password },
      headers: userAgentHeaders(userAgent),
    })
    await renewPasswordHash(context, { email, password })
    return verifyNewSession(context, answer.token)
  } catch (error) {
    const code = readAuthErrorCode(error)
    if (code === 'EMAIL_NOT_VERIFIED') return { outcome: 'unverified' }
    if (code === null) throw error
    return { outcome: 'refused' }
  }
}

/** Only a sign-in knows the password, so it replaces the hash that an earlier version made. */
async function renewPasswordHash(
  { database, passwordCost }: UsersContext,
  { email, password }: { email: string; password: string },
): Promise<void> {
  const user = await findUserByEmail(database, email)
  const hash = user && (await findPasswordHash(database, user.userId))
  if (!hash || !isPasswordHashOutdated(hash, passwordCost)) return
  const renewed = await createPasswordHash(password, passwordCost)
  await replacePasswordHash(database, user.userId, { from: hash, to: renewed })
}

const HOLD_MINUTES = 10

/**
 * Checks a session that the library has just created. A disabled user's session opens nothing. A
 * social provider can vouch for an unverified address: that session is deleted. With an
 * authenticator app, the session waits for a code after any first factor.
 */
export async function verifyNewSession(
  context: UsersContext,
  token: string,
  { isSecondFactorUsed = false } = {},
): Promise<SignInOutcome> {
  const { database, now } = context
  const user = await findSession(database, hashSessionToken(token), now())
  if (!user) return { outcome: 'refused' }
  const { userId, sessionId } = user
  if (!user.isEmailVerified) {
    await deleteSession(database, userId, sessionId)
    return { outcome: 'unverified' }
  }
  if (isSecondFactorUsed) {
    const renewed = await replaceSessionToken(context, sessionId, true)
    return renewed === null ? { outcome: 'refused' } : { outcome: 'signed_in', token: renewed }
  }
  if (!(await hasAuthenticatorApp(database, userId))) return { outcome: 'signed_in', token }
  await holdSession(database, sessionId, new Date(now().getTime() + HOLD_MINUTES * 60_000))
  return { outcome: 'second_factor_required', token }
}

/**
 * Gives a session a new token and its full lifetime, after its user proved who they are. Returns
 * null when the session has ended.
 */
export async function replaceSessionToken(
  { database, now }: Pick<UsersContext, 'database' | 'now'>,
  sessionId: number,
  isSecondFactorUsed: boolean,
): Promise<string | null> {
  const at = now()
  const token = createSessionToken()
  const isRenewed = await renewSession(database, {
    sessionId,
    tokenDigest: hashSessionToken(token),
    at,
    expiresAt: sessionExpiry(at),
    isSecondFactorUsed,
  })
  return isRenewed ? token : null
}

const AGENT_CHARACTERS_MAX = 300

/** The only request header that the library stores with a session. */
export function userAgentHeaders(userAgent: string | undefined): Headers {
  return new Headers({ 'user-agent': (userAgent ?? '').slice(0, AGENT_CHARACTERS_MAX) })
}

/** The error code of the library, such as INVALID_TOKEN; null for any other error. */
export function readAuthErrorCode(error: unknown): string | null {
  if (!(error instanceof Error) || error.name !== 'APIError') return null
  const { body, statusCode } = error as Error & { body?: { code?: string }; statusCode?: number }
  return (statusCode ?? 500) >= 500 ? null : (body?.code ?? 'UNKNOWN')
}
