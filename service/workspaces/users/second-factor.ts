import { hash } from 'node:crypto'
import { isUniqueViolation } from '../../runtime/db/database-errors.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { limitConfirmations } from './attempt-limits.ts'
import { factorChangedEmail } from './mail/email-templates.ts'
import {
  claimTotpCode,
  deleteAuthenticatorApp,
  resetSecondFactorFailures,
  SECOND_FACTOR_LOCK_SECONDS,
  takeSecondFactorAttempt,
} from './second-factor-store.ts'
import {
  type CurrentUser,
  clearSecondFactorUse,
  deleteSessions,
  findSession,
} from './session-store.ts'
import { hashSessionToken, readLibrarySessionToken } from './session-token.ts'
import { readAuthErrorCode, replaceSessionToken } from './sign-in.ts'
import type { UsersContext } from './users-context.ts'

interface CodeAttempt {
  userId: number
  /** The token of the user's session. */
  token: string
  /** Six digits from the authenticator app, or a recovery code. */
  code: string
}

const TOTP_CODE = /^\d{6}$/

/**
 * Checks a code of the authenticator app, or a recovery code. Each works once. Throws a 429 after
 * too many wrong codes in a row, also concurrent ones.
 */
export async function isCodeCorrect(
  context: UsersContext,
  { userId, token, code }: CodeAttempt,
): Promise<boolean> {
  const { database, now } = context
  const compact = code.replaceAll(/\s/g, '')
  if (!(await takeSecondFactorAttempt(database, userId, now()))) throw tooManyCodes()
  const isCorrect = TOTP_CODE.test(compact)
    ? await isTotpCodeCorrect(context, { userId, token, code: compact })
    : await isRecoveryCodeCorrect(context, { token, code: compact })
  if (isCorrect) await resetSecondFactorFailures(database, userId)
  return isCorrect
}

function tooManyCodes(): Refusal {
  const headers = { 'retry-after': String(SECOND_FACTOR_LOCK_SECONDS) }
  const minutes = SECOND_FACTOR_LOCK_SECONDS / 60
  return new Refusal(429, `Too many wrong codes. Try again in ${minutes} minutes.`, { headers })
}

/** A code is claimed before it is checked, so that of two concurrent uses only one counts. */
async function isTotpCodeCorrect(
  context: UsersContext,
  { userId, token, code }: CodeAttempt,
): Promise<boolean> {
  const digest = hash('sha256', `${userId} ${code}`, 'buffer')
  const at = context.now()
  if (!(await claimTotpCode(context.database, { userId, digest, at }))) return false
  const { api } = await context.authLibrary()
  return isAccepted(api.verifyTOTP({ body: { code }, headers: sessionHeaders(token) }))
}

async function isRecoveryCodeCorrect(
  context: UsersContext,
  { token, code }: Omit<CodeAttempt, 'userId'>,
): Promise<boolean> {
  const { api } = await context.authLibrary()
  return isAccepted(api.verifyBackupCode({ body: { code }, headers: sessionHeaders(token) }))
}

async function isAccepted(call: Promise<unknown>): Promise<boolean> {
  try {
    await call
    return true
  } catch (error) {
    if (readAuthErrorCode(error) === null) throw error
    return false
  }
}

/** Names a session to the library. Our own check of the session comes first. */
export function sessionHeaders(token: string, cookie = ''): Headers {
  return new Headers({ authorization: `Bearer ${token}`, ...(cookie !== '' && { cookie }) })
}

interface AppSetup {
  token: string
  /** Empty for a user without a password. */
  password: string
}

/**
 * Creates the secret of an authenticator app and returns its URI (`otpauth:`). It counts only after
 * a first code. Throws a 422 for a wrong password, or when an app is set up already.
 */
export async function startAppSetup(
  context: UsersContext,
  user: CurrentUser,
  { token, password }: AppSetup,
): Promise<string> {
  limitConfirmations(context, user.userId)
  const { api } = await context.authLibrary()
  const body = { method: 'totp', ...(password !== '' && { password }) } as const
  try {
    const setup = await api.enableTwoFactor({ body, headers: sessionHeaders(token) })
    if (!('totpURI' in setup)) throw new Error('the sign-in library returned no secret')
    return setup.totpURI
  } catch (error) {
    throw toSetupRefusal(error)
  }
}

/** Two concurrent setups of one user would be two secrets; the store keeps one. */
function toSetupRefusal(error: unknown): unknown {
  if (isUniqueViolation(error)) {
    return Refusal.ofFields({ '': ['This form was submitted twice. Submit it again.'] })
  }
  switch (readAuthErrorCode(error)) {
    case 'INVALID_PASSWORD':
    case 'PASSWORD_TOO_LONG':
      return Refusal.ofFields({ password: ['This is not your password.'] })
    case 'TOTP_ALREADY_ENABLED':
      return Refusal.ofFields({ '': ['You have an authenticator app. Remove it first.'] })
    case 'TWO_FACTOR_NOT_ENABLED':
      return Refusal.ofFields({ '': ['Set up an authenticator app first.'] })
    default:
      return error
  }
}

/**
 * Enables the authenticator app by its first code, ends all other sessions, and tells the user by
 * email. Returns the recovery codes and the token of the new session. Throws a 422 or 429.
 */
export async function finishAppSetup(
  context: UsersContext,
  user: CurrentUser,
  { token, code }: Omit<CodeAttempt, 'userId'>,
): Promise<{ recoveryCodes: string[]; token: string }> {
  const { database, now } = context
  const { userId } = user
  const compact = code.replaceAll(/\s/g, '')
  limitConfirmations(context, userId)
  const digest = hash('sha256', `${userId} ${compact}`, 'buffer')
  const { api } = await context.authLibrary()
  try {
    const { headers } = await api.verifyTOTP({
      body: { code: compact },
      headers: sessionHeaders(token),
      returnHeaders: true,
    })
    // The library replaces the session when it enables the first factor.
    const enabled = readLibrarySessionToken(headers.getSetCookie())
    if (enabled === null) throw alreadySetUp()
    await claimTotpCode(database, { userId, digest, at: now() })
    const { backupCodes } = await api.viewBackupCodes({ body: { userId: String(userId) } })
    context.mailer.send(factorChangedEmail(context.publicOrigin(), user, 'app_added'))
    return { recoveryCodes: backupCodes, token: await keepOnlySession(context, enabled) }
  } catch (error) {
    if (readAuthErrorCode(error) === null) throw error
    throw Refusal.ofFields({ code: ['This code is wrong. Check the clock of your device.'] })
  }
}

/** Ends the other sessions, which have not used the new factor. */
async function keepOnlySession(context: UsersContext, token: string): Promise<string> {
  const { database, now } = context
  const user = await findSession(database, hashSessionToken(token), now())
  const renewed = user && (await replaceSessionToken(context, user.sessionId, true))
  if (!user || renewed === null) throw new Refusal(403, 'Your session has ended. Sign in again.')
  await deleteSessions(database, user.userId, user.sessionId)
  return renewed
}

function alreadySetUp(): Refusal {
  return Refusal.ofFields({ '': ['You have an authenticator app. Remove it first.'] })
}

/** Replaces the recovery codes. Throws a 422 for a wrong password. */
export async function replaceRecoveryCodes(
  context: UsersContext,
  user: CurrentUser,
  { token, password }: AppSetup,
): Promise<string[]> {
  limitConfirmations(context, user.userId)
  const { api } = await context.authLibrary()
  const body = password === '' ? {} : { password }
  try {
    const { backupCodes } = await api.generateBackupCodes({ body, headers: sessionHeaders(token) })
    context.mailer.send(factorChangedEmail(context.publicOrigin(), user, 'codes_replaced'))
    return backupCodes
  } catch (error) {
    throw toSetupRefusal(error)
  }
}

/** Removes the authenticator app and its recovery codes, and tells the user by email. */
export async function removeApp(context: UsersContext, user: CurrentUser): Promise<void> {
  const { database } = context
  await deleteAuthenticatorApp(database, user.userId)
  await clearSecondFactorUse(database, user.userId)
  context.mailer.send(factorChangedEmail(context.publicOrigin(), user, 'app_removed'))
}
