import { jwtVerify } from 'jose'
import { FieldErrorList } from '../http/body-schema.ts'
import { Refusal } from '../http/refusal.ts'
import { EMAIL_ERROR, parseEmailAddress } from './account-fields.ts'
import { limitAttempts, limitPasswordChanges } from './attempt-limits.ts'
import { NAME_ERROR, parseName } from './display-name.ts'
import { passwordChangedEmail } from './mail/email-templates.ts'
import { createPasswordHash, isPasswordCorrect } from './password-hash.ts'
import { findPasswordError } from './password-strength.ts'
import type { PeopleContext } from './people-context.ts'
import { findPasswordHash, findPersonByEmail, setPassword } from './person-store.ts'
import { requireRecentAuthentication } from './reauthentication.ts'
import { type CurrentPerson, deleteSessions } from './session-store.ts'
import {
  readAuthErrorCode,
  replaceSessionToken,
  type SignInOutcome,
  startSession,
} from './sign-in.ts'
import { findDomainError, mayCreateAccount, requireOpenSignUp } from './sign-up-policy.ts'

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
export async function signUp(context: PeopleContext, input: SignUpInput): Promise<void> {
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
  const isKnown = (await findPersonByEmail(context.database, email)) !== null
  if (!isKnown && !(await mayCreateAccount(context, email))) {
    await createPasswordHash(input.password, context.passwordCost)
    return
  }
  const { api } = await context.authLibrary()
  try {
    await api.signUpEmail({ body: { email, name, password: input.password } })
  } catch (error) {
    // A concurrent sign-up created the account: both get the same response.
    if (!(await findPersonByEmail(context.database, email))) throw error
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
 * the password prevents account pre-hijacking: an attacker signs up with another person's address
 * and waits for its owner to confirm it. `invalid_link` covers every problem with the link.
 */
export async function verifyEmail(
  context: PeopleContext,
  { token, password, userAgent, cookie }: EmailVerification,
): Promise<SignInOutcome | { outcome: 'invalid_link' }> {
  const email = await readVerificationEmail(context, token)
  if (email === null) return { outcome: 'invalid_link' }
  await limitAttempts(context, { purpose: 'verification', email, cookie })
  const person = await findPersonByEmail(context.database, email)
  const hash = person && (await findPasswordHash(context.database, person.userId))
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
  { authLibrary }: PeopleContext,
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
  /** Empty when the person has none yet. */
  current: string
  next: string
}

/**
 * Changes a person's password, ends all of their other sessions and emailed links, tells them by
 * email and gives this session a new token, which it returns; null when this one has ended, too.
 * Without a password to enter, or with a second factor beside it, the person must have confirmed
 * their identity recently. Throws a 403, or a 422 that names the field.
 */
export async function changePassword(
  context: PeopleContext,
  person: CurrentPerson,
  { current, next }: PasswordChange,
): Promise<string | null> {
  const { database, now } = context
  limitPasswordChanges(context, person.sessionId)
  const hash = await findPasswordHash(database, person.userId)
  if (hash === null || person.hasSecondFactor) requireRecentAuthentication(person, now())
  if (hash !== null && !(await isPasswordCorrect({ hash, password: current }))) {
    throw Refusal.ofFields({ current: ['This is not your current password.'] })
  }
  const isSame = next === current
  const error = isSame ? 'Choose a different password.' : await findPasswordError(next, person)
  if (error !== null) throw Refusal.ofFields({ password: [error] })
  const newHash = await createPasswordHash(next, context.passwordCost)
  await database.query.transaction().execute(async query => {
    await setPassword({ query }, person.userId, { passwordHash: newHash, at: now() })
    await deleteSessions({ query }, person.userId, person.sessionId)
  })
  context.mailer.send(passwordChangedEmail(context.publicOrigin(), person, now()))
  return replaceSessionToken(context, person.sessionId, false)
}
