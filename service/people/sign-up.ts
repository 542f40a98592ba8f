import { FieldErrorList } from '../http/field-errors.ts'
import { Refusal } from '../http/refusal.ts'
import { emailAddress } from './email-address.ts'
import { limitAccount } from './limit-account.ts'
import { passwordFault } from './password-rules.ts'
import type { PeopleContext } from './people-context.ts'
import { personName } from './person-name.ts'
import { findPerson } from './person-store.ts'

export interface SignUp {
  name: string
  email: string
  password: string
}

/**
 * Makes an account whose address is to be confirmed by a mailed link. For an address that is known
 * the answer and its time are the same, and its owner is told by mail. Throws a 422 or a 429.
 */
export async function signUp(context: PeopleContext, given: SignUp): Promise<void> {
  const faults = new FieldErrorList()
  const email = emailAddress(given.email)
  const name = personName(given.name)
  if (name === null) faults.add('name', 'Write your name, in at most 100 characters.')
  if (email === null) faults.add('email', 'Write a mail address such as ada@example.com.')
  const fault = passwordFault(given.password, given)
  if (fault !== null) faults.add('password', fault)
  if (email === null || name === null || fault !== null) throw Refusal.ofFields(faults.toErrors())
  limitAccount(context, email)
  const { api } = await context.library()
  try {
    await api.signUpEmail({ body: { email, name, password: given.password } })
  } catch (error) {
    // Two at once: the other one made the account, and this one is told the same as it.
    if (!(await findPerson(context.database, email))) throw error
  }
}
