import { FieldErrorList } from '../http/field-errors.ts'
import { Refusal } from '../http/refusal.ts'
import { emailAddress } from './email-address.ts'
import { limitAccount } from './limit-account.ts'
import { passwordFault } from './password-rules.ts'
import type { PeopleContext } from './people-context.ts'
import { findPerson } from './person-store.ts'
import { libraryCode, openedSession, type SignInOutcome, sessionHeaders } from './sign-in.ts'

/** What somebody may ask to be mailed to them. */
export type LinkKind = 'verification' | 'reset' | 'sign_in'

/**
 * Mails a link, if there is an account to which it belongs. The answer is the same when there is
 * none. Throws a 422 for what is no address, and a 429 for one to which too much went.
 */
export async function askForLink(
  context: PeopleContext,
  kind: LinkKind,
  given: string,
): Promise<void> {
  const email = emailAddress(given)
  if (email === null) {
    throw Refusal.ofFields({ email: ['Write a mail address such as ada@example.com.'] })
  }
  limitAccount(context, email)
  const { api } = await context.library()
  switch (kind) {
    case 'verification':
      await api.sendVerificationEmail({ body: { email } })
      return
    case 'reset':
      await api.requestPasswordReset({ body: { email } })
      return
    case 'sign_in':
      // The library would mail to anybody, and say only at the end that there is no account.
      if (await findPerson(context.database, email)) {
        await api.signInMagicLink({ body: { email }, headers: new Headers() })
      }
  }
}

/** Signs in by a mailed link, once. What was unproven about the account is cut off. */
export async function followSignInLink(
  context: PeopleContext,
  token: string,
  userAgent: string | undefined,
): Promise<SignInOutcome> {
  const { api } = await context.library()
  try {
    const answer = await api.magicLinkVerify({
      query: { token },
      headers: sessionHeaders(userAgent),
    })
    return openedSession(context, answer.token)
  } catch (error) {
    if (libraryCode(error) === null) throw error
    return { outcome: 'refused' }
  }
}

export interface NewPassword {
  /** Of the mailed link. */
  token: string
  password: string
}

/**
 * Sets a new password by a mailed link, once, and ends all sessions. False when the link is used,
 * too old or wrong. Throws a 422 for a password that may not be used; the link stays good then.
 */
export async function resetPassword(
  context: PeopleContext,
  { token, password }: NewPassword,
): Promise<boolean> {
  const fault = passwordFault(password, { email: '', name: '' })
  if (fault !== null) {
    const faults = new FieldErrorList()
    faults.add('password', fault)
    throw Refusal.ofFields(faults.toErrors())
  }
  const { api } = await context.library()
  try {
    await api.resetPassword({ body: { token, newPassword: password } })
    return true
  } catch (error) {
    if (libraryCode(error) === null) throw error
    return false
  }
}
