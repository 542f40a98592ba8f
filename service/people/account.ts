import { decodeJwt } from 'jose'
import { FieldErrorList } from '../http/field-errors.ts'
import { Refusal } from '../http/refusal.ts'
import { findPasswordError, parseEmailAddress, parseName } from './account-fields.ts'
import { createPasswordHash, isPasswordCorrect } from './auth-library.ts'
import { limitAccountAttempts, type PeopleContext } from './people-context.ts'
import { findPasswordHash, findPersonByEmail, setPassword } from './person-store.ts'
import { type CurrentPerson, deleteSessions } from './session-store.ts'
import { readAuthErrorCode, type SignInOutcome, signIn } from './sign-in.ts'

interface SignUpInput {
  name: string
  email: string
  password: string
}

/**
 * Makes an account whose address is to be confirmed by a mailed link. For an address that is known
 * the answer and its time are the same, and its owner is told by mail. Throws a 422 or a 429.
 */
export async function signUp(context: PeopleContext, given: SignUpInput): Promise<void> {
  const faults = new FieldErrorList()
  const email = parseEmailAddress(given.email)
  const name = parseName(given.name)
  if (name === null) faults.add('name', 'Write your name, in at most 100 characters.')
  if (email === null) faults.add('email', 'Write a mail address such as ada@example.com.')
  const fault = findPasswordError(given.password, given)
  if (fault !== null) faults.add('password', fault)
  if (email === null || name === null || fault !== null) throw Refusal.ofFields(faults.toErrors())
  limitAccountAttempts(context, email)
  const { api } = await context.authLibrary()
  try {
    await api.signUpEmail({ body: { email, name, password: given.password } })
  } catch (error) {
    // Two at once: the other one made the account, and this one is told the same as it.
    if (!(await findPersonByEmail(context.database, email))) throw error
  }
}

interface EmailVerification {
  /** Of the mailed link. */
  token: string
  password: string
  userAgent: string | undefined
}

/**
 * Confirms an address by the mailed link together with the password that was chosen at signing up,
 * and signs in. Without the password a stranger could sign up with somebody's address, wait until
 * its owner confirms it, and then own the account ("account pre-hijacking"). `bad_link` covers
 * everything that is wrong with the link.
 */
export async function verifyEmail(
  context: PeopleContext,
  { token, password, userAgent }: EmailVerification,
): Promise<SignInOutcome | { outcome: 'bad_link' }> {
  const email = readUnverifiedEmail(token)
  if (email === null) return { outcome: 'bad_link' }
  limitAccountAttempts(context, email)
  const person = await findPersonByEmail(context.database, email)
  const hash = person && (await findPasswordHash(context.database, person.userId))
  if (!hash) return { outcome: 'bad_link' }
  if (!(await isPasswordCorrect({ hash, password }))) return { outcome: 'refused' }
  const { api } = await context.authLibrary()
  try {
    await api.verifyEmail({ query: { token } })
  } catch (error) {
    if (readAuthErrorCode(error) === null) throw error
    return { outcome: 'bad_link' }
  }
  return signIn(context, { email, password, userAgent })
}

/** Not believed before the library has checked the signature. */
function readUnverifiedEmail(token: string): string | null {
  try {
    return parseEmailAddress(decodeJwt(token).email)
  } catch {
    return null
  }
}

interface PasswordChange {
  /** Empty when the person has none yet. */
  current: string
  next: string
  userAgent: string | undefined
}

/**
 * Changes a person's password, ends every session of theirs, this one too, and begins a new one:
 * whoever shares a session loses it. Throws a 422 that names the field.
 */
export async function changePassword(
  context: PeopleContext,
  person: CurrentPerson,
  { current, next, userAgent }: PasswordChange,
): Promise<SignInOutcome> {
  const { database, now } = context
  limitAccountAttempts(context, person.email)
  const hash = await findPasswordHash(database, person.userId)
  if (hash !== null && !(await isPasswordCorrect({ hash, password: current }))) {
    throw Refusal.ofFields({ current: ['This is not your password.'] })
  }
  const fault = next === current ? 'Choose another than before.' : findPasswordError(next, person)
  if (fault !== null) throw Refusal.ofFields({ password: [fault] })
  const newHash = await createPasswordHash(next)
  await database.query.transaction().execute(async query => {
    await setPassword({ query }, person.userId, { passwordHash: newHash, at: now() })
    await deleteSessions({ query }, person.userId)
  })
  return signIn(context, { email: person.email, password: next, userAgent })
}
