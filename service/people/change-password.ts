import { Refusal } from '../http/refusal.ts'
import { isPasswordOf, passwordHash } from './auth-library.ts'
import type { CurrentPerson } from './current-person.ts'
import { limitAccount } from './limit-account.ts'
import { passwordFault } from './password-rules.ts'
import type { PeopleContext } from './people-context.ts'
import { findPasswordHash, setPassword } from './person-store.ts'
import { deleteSessions } from './session-store.ts'
import { type SignInOutcome, signIn } from './sign-in.ts'

export interface PasswordChange {
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
  limitAccount(context, person.email)
  const hash = await findPasswordHash(database, person.userId)
  if (hash !== null && !(await isPasswordOf({ hash, password: current }))) {
    throw Refusal.ofFields({ current: ['This is not your password.'] })
  }
  const fault = next === current ? 'Choose another than before.' : passwordFault(next, person)
  if (fault !== null) throw Refusal.ofFields({ password: [fault] })
  const newHash = await passwordHash(next)
  await database.query.transaction().execute(async query => {
    await setPassword({ query }, person.userId, { passwordHash: newHash, at: now() })
    await deleteSessions({ query }, person.userId)
  })
  return signIn(context, { email: person.email, password: next, userAgent })
}
