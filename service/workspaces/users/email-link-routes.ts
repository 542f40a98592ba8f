import { randomUUID } from 'node:crypto'
import Type from 'typebox'
import { limitAddresses } from '../../runtime/http/client-address.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { formSecret, formText, readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import { limitAttempts } from './attempt-limits.ts'
import type { AuthLibrary } from './auth-library.ts'
import { LINK_LIFETIME_MINUTES } from './mail/email-templates.ts'
import {
  completeSignIn,
  NOTICES,
  type PageReply,
  type PageRequest,
  PUBLIC,
  seeOther,
  UNAUTHORIZED,
  UNPROCESSABLE,
} from './page-visit.ts'
import { findPasswordError } from './password-strength.ts'
import type { SignInMethod } from './security-events.ts'
import {
  readAuthErrorCode,
  type SignInOutcome,
  userAgentHeaders,
  verifyNewSession,
} from './sign-in.ts'
import {
  confirmSignInPage,
  emailSentPage,
  invalidLinkPage,
  type RequestLinkPage,
  requestLinkPage,
  resetPasswordPage,
  verifyEmailPage,
} from './sign-in-pages.ts'
import { verifyEmail } from './sign-up.ts'
import { EMAIL_ERROR, parseEmailAddress } from './user-input.ts'
import { findUserByEmail, findUserById, type User } from './user-store.ts'
import type { UsersContext } from './users-context.ts'

const BAD_REQUEST = 400
const TOKEN_CHARACTERS_MAX = 1_000

/** The pages that request an email link, and the pages that the links open. */
export function emailLinkRoutes(app: ServiceApp, context: UsersContext): void {
  app.get('/verify', PUBLIC, async request => {
    const token = readToken(request.query)
    return token === null
      ? requestLinkPage(REQUEST_LINK_PAGES.verification)
      : verifyEmailPage(token)
  })
  app.get('/reset', PUBLIC, async request => {
    const token = readToken(request.query)
    return token === null ? requestLinkPage(REQUEST_LINK_PAGES.reset) : resetPasswordPage(token)
  })
  app.get('/magic', PUBLIC, async request => {
    const token = readToken(request.query)
    return token === null ? requestLinkPage(REQUEST_LINK_PAGES.sign_in) : confirmSignInPage(token)
  })
  app.get('/forgot', PUBLIC, async () => requestLinkPage(REQUEST_LINK_PAGES.reset))
  app.register(async limited => {
    if (context.limits.signIn) limitAddresses(limited, context.limits.signIn)
    const requestLink = (kind: EmailLinkKind) => (request: PageRequest, reply: PageReply) =>
      postLinkRequest(context, kind, { request, reply })
    limited.post('/verify/ask', PUBLIC, requestLink('verification'))
    limited.post('/forgot', PUBLIC, requestLink('reset'))
    limited.post('/magic', PUBLIC, requestLink('sign_in'))
    limited.post('/verify', PUBLIC, (request, reply) => postVerify(context, request, reply))
    limited.post('/reset', PUBLIC, (request, reply) => postReset(context, request, reply))
    limited.post('/magic/sign-in', PUBLIC, (request, reply) =>
      postSignInLink(context, request, reply),
    )
  })
}

const REQUEST_LINK_PAGES: Record<EmailLinkKind, RequestLinkPage> = {
  verification: {
    title: 'Confirm your email',
    description: 'If this address has an unconfirmed account, we send you another link.',
    action: '/verify/ask',
    button: 'Email me a link',
  },
  reset: {
    title: 'Choose a new password',
    description: 'If this address has an account, we send you a link to choose a new password.',
    action: '/forgot',
    button: 'Email me a link',
  },
  sign_in: {
    title: 'Sign in by email',
    description: 'If this address has an account, we send you a link that signs you in.',
    action: '/magic',
    button: 'Email me a link',
  },
}

const REQUEST_FORM = Type.Object({ email: formText() })
const TOKEN_FORM = Type.Object({ token: formText(TOKEN_CHARACTERS_MAX) })
const PASSWORD_FORM = Type.Object({ ...TOKEN_FORM.properties, password: formSecret() })

interface Visit {
  request: PageRequest
  reply: PageReply
}

async function postLinkRequest(
  context: UsersContext,
  kind: EmailLinkKind,
  { request, reply }: Visit,
) {
  const { email } = readForm(request.body, REQUEST_FORM)
  try {
    await requestEmailLink(context, kind, { address: email, cookie: request.headers.cookie })
  } catch (error) {
    const page = { ...REQUEST_LINK_PAGES[kind], email, errors: toFormErrors(error) }
    return reply.code(UNPROCESSABLE).send(requestLinkPage(page))
  }
  const details = { kind }
  const type = 'email_link.requested'
  await context.recordSecurityEvent({ type, user: { email }, request, details })
  return emailSentPage('If this address has an account, we sent it a link.')
}

async function postVerify(context: UsersContext, request: PageRequest, reply: PageReply) {
  const { token, password } = readForm(request.body, PASSWORD_FORM)
  const result = await verifyEmail(context, {
    token,
    password,
    userAgent: request.headers['user-agent'],
    cookie: request.headers.cookie,
  })
  if (!('token' in result)) {
    await recordFailedLink(context, request, { method: 'verification', reason: result.outcome })
  }
  switch (result.outcome) {
    case 'signed_in':
    case 'second_factor_required': {
      const signIn = { session: result, returnTo: '/workspaces', method: 'verification' } as const
      return completeSignIn(context, { request, reply, ...signIn })
    }
    case 'invalid_link':
    case 'unverified':
      return reply.code(BAD_REQUEST).send(invalidLinkPage('/verify'))
    case 'refused': {
      const errors = { password: 'This is not the password of this account.' }
      return reply.code(UNAUTHORIZED).send(verifyEmailPage(token, errors))
    }
  }
}

async function postReset(context: UsersContext, request: PageRequest, reply: PageReply) {
  const { token, password } = readForm(request.body, PASSWORD_FORM)
  try {
    const user = await resetPassword(context, { token, password })
    if (!user) return reply.code(BAD_REQUEST).send(invalidLinkPage('/forgot'))
    await context.recordSecurityEvent({ type: 'password.reset', user, request })
    return seeOther(reply, NOTICES.addTo('/sign-in', 'password_reset'))
  } catch (error) {
    return reply.code(UNPROCESSABLE).send(resetPasswordPage(token, toFormErrors(error)))
  }
}

async function postSignInLink(context: UsersContext, request: PageRequest, reply: PageReply) {
  const { token } = readForm(request.body, TOKEN_FORM)
  const result = await signInByEmailLink(context, token, request.headers['user-agent'])
  if (!('token' in result)) {
    await recordFailedLink(context, request, { method: 'email_link', reason: result.outcome })
    return reply.code(BAD_REQUEST).send(invalidLinkPage('/magic'))
  }
  const signIn = { session: result, returnTo: '/workspaces', method: 'email_link' } as const
  return completeSignIn(context, { request, reply, ...signIn })
}

/** The link of a failed sign-in proves nothing about whose it is. */
function recordFailedLink(
  context: UsersContext,
  request: PageRequest,
  details: { method: SignInMethod; reason: string },
): Promise<void> {
  return context.recordSecurityEvent({ type: 'sign_in.failed', user: null, request, details })
}

const linkQuery = new Validator(
  Type.Object({ token: Type.Optional(Type.String({ minLength: 1 })) }),
)

/** The token of an emailed link; null without one. */
function readToken(query: unknown): string | null {
  return linkQuery.pickValid(query).token ?? null
}

/** The links that a user can request by email. */
type EmailLinkKind = 'verification' | 'reset' | 'sign_in'

/**
 * Emails a link if the address has an account. The response is the same if it has none, and takes
 * as long: the same rows are read and written. Throws a 422 for an invalid address and a 429 after
 * too many requests for one address.
 */
async function requestEmailLink(
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
async function signInByEmailLink(
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
async function resetPassword(
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
