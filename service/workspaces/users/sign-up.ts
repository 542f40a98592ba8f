import { jwtVerify } from 'jose'
import { Refusal } from '../../runtime/http/refusal.ts'
import { FieldErrorList } from '../../runtime/http/validator.ts'
import { limitAttempts, limitPasswordChanges } from './attempt-limits.ts'
import { passwordChangedEmail } from './mail/email-templates.ts'
import { createPasswordHash, isPasswordCorrect } from './password-hash.ts'
import { findPasswordError } from './password-strength.ts'
import { requireRecentAuthentication } from './reauthentication.ts'
import { type CurrentUser, deleteSessions } from './session-store.ts'
import {
  readAuthErrorCode,
  replaceSessionToken,
  type SignInOutcome,
  startSession,
} from './sign-in.ts'
import { findDomainError, maySignUp, requireOpenSignUp } from './sign-up-policy.ts'
import { EMAIL_ERROR, NAME_ERROR, parseEmailAddress, parseName } from './user-input.ts'
import { findPasswordHash, findUserByEmail, setPassword } from './user-store.ts'
import type { UsersContext } from './users-context.ts'

interface SignUpInput {
  name: string
  email: string
  password: string
  cookie: string | undefined
}

/**
 * Creates an account and emails a link that verifies its address. For a registered address, the
 * response and its timing are the same, and the owner gets an email. So are they for an address
 * that is not invited where only invited ones may sign up: it gets no email. Throws a 403, 422 or
 * 429.
 */
export async function signUp(context: UsersContext, input: SignUpInput): Promise<void> {
  requireOpenSignUp(context.signUp)
  const errors = new FieldErrorList()
  const email = parseEmailAddress(input.email)
  const name = parseName(input.name)
  if (name === null) errors.add('name', NAME_ERROR)
  const emailError = email === null ? EMAIL_ERROR : findDomainError(context.signUp, email)
  if (emailError !== null) errors.add('email', emailError)
  const passwordError = await findPasswordError(input.password, input)
  if (passwordError !== null) errors.add('password', passwordError)
  if (email === null || name === null || !errors.isEmpty) {
    throw Refusal.ofFields(errors.toErrors())
  }
  await limitAttempts(context, { purpose: 'sign_up', email, cookie: input.cookie })
  const isKnown = (await findUserByEmail(context.database, email)) !== null
  if (!isKnown && !(await maySignUp(context, email))) {
    await createPasswordHash(input.password, context.passwordCost)
    return
  }
  const { api } = await context.authLibrary()
  try {
    await api.signUpEmail({ body: { email, name, password: input.password } })
  } catch (error) {
    // A concurrent sign-up created the account: both get the same response.
    if (!(await findUserByEmail(context.database, email))) throw error
  }
}

interface EmailVerification {
  /** From the emailed link. */
  token: string
  password: string
  userAgent: string | undefined
  cookie: string | undefined
}

/**
 * Verifies an address by the emailed link and the password from sign-up, then signs in. Requiring
 * the password prevents account pre-hijacking: an attacker signs up with another user's address
 * and waits for its owner to confirm it. `invalid_link` covers every problem with the link.
 */
export async function verifyEmail(
  context: UsersContext,
  { token, password, userAgent, cookie }: EmailVerification,
): Promise<SignInOutcome | { outcome: 'invalid_link' }> {
  const email = await readVerificationEmail(context, token)
  if (email === null) return { outcome: 'invalid_link' }
  await limitAttempts(context, { purpose: 'verification', email, cookie })
  const user = await findUserByEmail(context.database, email)
  const hash = user && (await findPasswordHash(context.database, user.userId))
  if (!hash) return { outcome: 'invalid_link' }
  if (!(await isPasswordCorrect({ hash, password }))) return { outcome: 'refused' }
  const { api } = await context.authLibrary()
  try {
    await api.verifyEmail({ query: { token } })
  } catch (error) {
    if (readAuthErrorCode(error) === null) throw error
    return { outcome: 'invalid_link' }
  }
  return startSession(context, { email, password, userAgent })
}

/**
 * The address of an emailed link; null unless the library signed it. Checked before the account and
 * the password are looked at, so that a made-up link reveals neither.
 */
async function readVerificationEmail(
  { authLibrary }: UsersContext,
  token: string,
): Promise<string | null> {
  const { secret } = await (await authLibrary()).$context
  try {
    const key = new TextEncoder().encode(secret)
    const { payload } = await jwtVerify(token, key, { algorithms: ['HS256'] })
    return parseEmailAddress(payload.email)
  } catch {
    return null
  }
}

interface PasswordChange {
  /** Empty when the user has none yet. */
  current: string
  next: string
}

/**
 * Changes a user's password, ends all of their other sessions and emailed links, tells them by
 * email and gives this session a new token, which it returns; null when this one has ended, too.
 * Without a password to enter, or with a second factor beside it, the user must have confirmed
 * their identity recently. Throws a 403, or a 422 that names the field.
 */
export async function changePassword(
  context: UsersContext,
  user: CurrentUser,
  { current, next }: PasswordChange,
): Promise<string | null> {
  const { database, now } = context
  limitPasswordChanges(context, user.sessionId)
  const hash = await findPasswordHash(database, user.userId)
  if (hash === null || user.hasSecondFactor) requireRecentAuthentication(user, now())
  if (hash !== null && !(await isPasswordCorrect({ hash, password: current }))) {
    throw Refusal.ofFields({ current: ['This is not your current password.'] })
  }
  const isSame = next === current
  const error = isSame ? 'Choose a different password.' : await findPasswordError(next, user)
  if (error !== null) throw Refusal.ofFields({ password: [error] })
  const newHash = await createPasswordHash(next, context.passwordCost)
  await database.query.transaction().execute(async query => {
    await setPassword({ query }, user.userId, { passwordHash: newHash, at: now() })
    await deleteSessions({ query }, user.userId, user.sessionId)
  })
  context.mailer.send(passwordChangedEmail(context.publicOrigin(), user, now()))
  return replaceSessionToken(context, user.sessionId, false)
}
