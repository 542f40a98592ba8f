import { randomUUID } from 'node:crypto'
import { Refusal } from '../../runtime/http/refusal.ts'
import { limitAttempts } from './attempt-limits.ts'
import type { AuthLibrary } from './auth-library.ts'
import { LINK_LIFETIME_MINUTES } from './mail/email-templates.ts'
import { findPasswordError } from './password-strength.ts'
import {
  readAuthErrorCode,
  type SignInOutcome,
  userAgentHeaders,
  verifyNewSession,
} from './sign-in.ts'
import { EMAIL_ERROR, parseEmailAddress } from './user-input.ts'
import { findUserByEmail, findUserById, type User } from './user-store.ts'
import type { UsersContext } from './users-context.ts'

/** The links that a user can request by email. */
export type EmailLinkKind = 'verification' | 'reset' | 'sign_in'

/**
 * Emails a link if the address has an account. The response is the same if it has none, and takes
 * as long: the same rows are read and written. Throws a 422 for an invalid address and a 429 after
 * too many requests for one address.
 */
export async function requestEmailLink(
  context: UsersContext,
  kind: EmailLinkKind,
  { address, cookie }: { address: string; cookie: string | undefined },
): Promise<void> {
  const email = parseEmailAddress(address)
  if (email === null) throw Refusal.ofFields({ email: [EMAIL_ERROR] })
  await limitAttempts(context, { purpose: `${kind}_link`, email, cookie })
  const library = await context.authLibrary()
  switch (kind) {
    case 'verification':
      await library.api.sendVerificationEmail({ body: { email } })
      return
    case 'reset':
      if (await findUserByEmail(context.database, email)) {
        await library.api.requestPasswordReset({ body: { email } })
      } else {
        await storeUnsentLink(library, email, context.now())
      }
      return
    case 'sign_in':
      await library.api.signInMagicLink({ body: { email }, headers: new Headers() })
  }
}

/**
 * Does for an unknown address what the library does to store a link to reset the password, so that
 * a request for it takes as long. The stored link opens nothing and expires like the others.
 */
async function storeUnsentLink(library: AuthLibrary, email: string, at: Date): Promise<void> {
  const { internalAdapter } = await library.$context
  await internalAdapter.findUserByEmail(email, { includeAccounts: true })
  await internalAdapter.findAccounts(NO_USER_ID)
  await internalAdapter.createVerificationValue({
    identifier: `unsent:${randomUUID()}`,
    value: 'unsent',
    expiresAt: new Date(at.getTime() + LINK_LIFETIME_MINUTES.reset * 60_000),
  })
}

const NO_USER_ID = '0'

/** Signs in by an emailed link, once. */
export async function signInByEmailLink(
  context: UsersContext,
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

interface PasswordReset {
  /** From the emailed link. */
  token: string
  password: string
}

/**
 * Sets a new password by an emailed link, once, ends all sessions and links, and tells the user
 * by email. Returns the user; null when the link is used, expired or invalid. Throws a 422 for an
 * unacceptable password; the link stays valid.
 */
export async function resetPassword(
  context: UsersContext,
  { token, password }: PasswordReset,
): Promise<User | null> {
  const owner = await findResetOwner(context, token)
  if (!owner) return null
  const error = await findPasswordError(password, owner)
  if (error !== null) throw Refusal.ofFields({ password: [error] })
  const { api } = await context.authLibrary()
  try {
    await api.resetPassword({ body: { token, newPassword: password } })
    return owner
  } catch (error) {
    if (readAuthErrorCode(error) === null) throw error
    return null
  }
}

/** The user of a live link, whose name and address the new password may not contain. */
async function findResetOwner(context: UsersContext, token: string): Promise<User | null> {
  const { internalAdapter } = await (await context.authLibrary()).$context
  const link = await internalAdapter.findVerificationValue(`reset-password:${token}`)
  return link && findUserById(context.database, Number(link.value))
}
