import { Refusal } from '../../runtime/http/refusal.ts'
import { limitConfirmations } from './attempt-limits.ts'
import { isPasswordCorrect } from './password-hash.ts'
import { isCodeCorrect } from './second-factor.ts'
import { hasAuthenticatorApp, listPasskeys } from './second-factor-store.ts'
import type { CurrentUser } from './session-store.ts'
import { replaceSessionToken } from './sign-in.ts'
import { canConfirmAtProvider } from './single-sign-on/linked-sign-in.ts'
import { findPasswordHash } from './user-store.ts'
import type { UsersContext } from './users-context.ts'

/** How long a confirmed identity allows sensitive changes. */
const RECENT_MINUTES = 15
export const CONFIRM_PATH = '/account/confirm'
/** To sign in again at the company's OpenID provider. */
export const CONFIRM_AT_PROVIDER_PATH = `${CONFIRM_PATH}/oidc`

/**
 * True when the user confirmed their identity in the last minutes, with a second factor if they
 * have one: neither a stolen session nor a stolen password is enough.
 */
export function isRecentlyAuthenticated(user: CurrentUser, now: Date): boolean {
  const { hasSecondFactor, secondFactorAt, authenticatedAt } = user
  const at = hasSecondFactor ? secondFactorAt : authenticatedAt
  return at !== null && now.getTime() - at.getTime() < RECENT_MINUTES * 60_000
}

/** Throws a 403 that leads to the page where the user confirms their identity. */
export function requireRecentAuthentication(user: CurrentUser, now: Date): void {
  if (isRecentlyAuthenticated(user, now)) return
  throw new Refusal(403, 'Confirm your identity first, then submit the form again.', {
    reason: 'reauthentication_required',
    nextStep: { label: 'Confirm your identity', path: CONFIRM_PATH },
  })
}

/** Throws a 403 when this session has not used a second factor. */
export function requireSecondFactor({ hasSecondFactor, secondFactorAt }: CurrentUser): void {
  if (secondFactorAt !== null) return
  const nextStep = hasSecondFactor
    ? { label: 'Use your second factor', path: CONFIRM_PATH }
    : { label: 'Set up a second factor', path: '/account' }
  const message = 'This workspace requires a second factor: an authenticator app or a passkey.'
  throw new Refusal(403, message, { reason: 'second_factor_required', nextStep })
}

/** What a user confirms their identity with. */
export interface ConfirmationMeans {
  hasPassword: boolean
  hasApp: boolean
  hasPasskey: boolean
  /** Of the provider where they may sign in again instead; null without one. */
  providerName: string | null
}

export async function findConfirmationMeans(
  context: UsersContext,
  user: CurrentUser,
): Promise<ConfirmationMeans> {
  const { database, singleSignOn } = context
  const { userId } = user
  const hasApp = await hasAuthenticatorApp(database, userId)
  const hasPassword = (await findPasswordHash(database, userId)) !== null
  const passkeys = await listPasskeys(database, userId)
  const isLinked = await canConfirmAtProvider(context, user)
  const providerName = isLinked ? (singleSignOn?.name ?? null) : null
  return { hasApp, hasPassword, hasPasskey: passkeys.length > 0, providerName }
}

interface Confirmation {
  /** The token of the session. */
  token: string
  password: string
  code: string
}

/**
 * Confirms the identity of a signed-in user by everything that signing in takes. Returns the new
 * token of the session. Throws a 422 that names the field, or a 429.
 */
export async function confirmIdentity(
  context: UsersContext,
  user: CurrentUser,
  { token, password, code }: Confirmation,
): Promise<string> {
  const { userId } = user
  limitConfirmations(context, userId)
  const hasApp = await hasAuthenticatorApp(context.database, userId)
  if (user.hasSecondFactor && !hasApp) throw Refusal.ofFields({ '': ['Use your passkey.'] })
  const hash = await findPasswordHash(context.database, userId)
  if (hash === null && !hasApp) {
    throw Refusal.ofFields({ '': ['You have no password. Sign out, then sign in again.'] })
  }
  if (hash !== null && !(await isPasswordCorrect({ hash, password }))) {
    throw Refusal.ofFields({ password: ['This is not your password.'] })
  }
  if (hasApp && !(await isCodeCorrect(context, { userId, token, code }))) {
    throw Refusal.ofFields({ code: ['This code is wrong, or it was used before.'] })
  }
  const renewed = await replaceSessionToken(context, user.sessionId, hasApp)
  if (renewed === null) throw new Refusal(403, 'Your session has ended. Sign in again.')
  return renewed
}
