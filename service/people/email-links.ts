import { FieldErrorList } from '../http/field-errors.ts'
import { Refusal } from '../http/refusal.ts'
import { findPasswordError, parseEmailAddress } from './account-fields.ts'
import { limitAccountAttempts, type PeopleContext } from './people-context.ts'
import { findPersonByEmail } from './person-store.ts'
import {
  readAuthErrorCode,
  type SignInOutcome,
  userAgentHeaders,
  verifyNewSession,
} from './sign-in.ts'

/** What somebody may ask to be mailed to them. */
export type EmailLinkKind = 'verification' | 'reset' | 'sign_in'

/**
 * Mails a link, if there is an account to which it belongs. The answer is the same when there is
 * none. Throws a 422 for what is no address, and a 429 for one to which too much went.
 */
export async function requestEmailLink(
  context: PeopleContext,
  kind: EmailLinkKind,
  given: string,
): Promise<void> {
  const email = parseEmailAddress(given)
  if (email === null) {
    throw Refusal.ofFields({ email: ['Write a mail address such as ada@example.com.'] })
  }
  limitAccountAttempts(context, email)
  const { api } = await context.authLibrary()
  switch (kind) {
    case 'verification':
      await api.sendVerificationEmail({ body: { email } })
      return
    case 'reset':
      await api.requestPasswordReset({ body: { email } })
      return
    case 'sign_in':
      // The library would mail to anybody, and say only at the end that there is no account.
      if (await findPersonByEmail(context.database, email)) {
        await api.signInMagicLink({ body: { email }, headers: new Headers() })
      }
  }
}

/** Signs in by a mailed link, once. What was unproven about the account is cut off. */
export async function signInByEmailLink(
  context: PeopleContext,
  token: string,
  userAgent: string | undefined,
): Promise<SignInOutcome> {
  const { api } = await context.authLibrary()
  try {
    const answer = await api.magicLinkVerify({
      query: { token },
      headers: userAgentHeaders(userAgent),
    })
    return verifyNewSession(context, answer.token)
  } catch (error) {
    if (readAuthErrorCode(error) === null) throw error
    return { outcome: 'refused' }
  }
}

export interface PasswordReset {
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
  { token, password }: PasswordReset,
): Promise<boolean> {
  const fault = findPasswordError(password, { email: '', name: '' })
  if (fault !== null) {
    const faults = new FieldErrorList()
    faults.add('password', fault)
    throw Refusal.ofFields(faults.toErrors())
  }
  const { api } = await context.authLibrary()
  try {
    await api.resetPassword({ body: { token, newPassword: password } })
    return true
  } catch (error) {
    if (readAuthErrorCode(error) === null) throw error
    return false
  }
}
