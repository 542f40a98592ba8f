import { PageQuery } from '@signalbox/contract/session/session-operation.ts'
import Type from 'typebox'
import { Validator } from '../../runtime/http/validator.ts'
import { formText, readForm, safeReturnPath } from '../../runtime/pages/form-body.ts'
import { Notices } from '../../runtime/pages/notices.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import { objectOrEmpty } from '../../runtime/util/is-object.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { knownDeviceCookie } from './attempt-limits.ts'
import type { EventRequest, SignInMethod } from './security-events.ts'
import {
  type CurrentUser,
  deleteSession,
  findCurrentUser,
  findSession,
  type SessionContext,
} from './session-store.ts'
import { hashSessionToken, readCookie, serializeCookie, sessionCookie } from './session-token.ts'
import type { NewSession } from './sign-in.ts'
import type { UsersContext } from './users-context.ts'

/** The parts of a request and its reply that pages use. */
export interface PageRequest extends EventRequest {
  method: string
  url: string
  headers: EventRequest['headers'] & {
    cookie?: string | undefined
    'user-agent'?: string | undefined
  }
  params: unknown
  query: unknown
  body: unknown
}

export interface PageReply {
  redirect(url: string, code: number): unknown
  header(name: string, value: string): unknown
  code(status: number): { send(text: string): unknown }
}

export interface SignedInRequest {
  user: CurrentUser
  request: PageRequest
  reply: PageReply
}

/** Route options: a page for everyone, and a page that needs a session. */
export const PUBLIC = { config: { credential: 'none' } } as const
export const SIGNED_IN = { config: { credential: 'session' } } as const

export const UNAUTHORIZED = 401
export const UNPROCESSABLE = 422
const SEE_OTHER = 303
/** The only page that a user with a generated password may open. */
const FIRST_PASSWORD_PATH = '/account/password'

/**
 * Wraps the handler of a page that needs a signed-in user. Other visitors are redirected to sign
 * in. They come back afterwards, except to a form, because a browser does not send it again.
 */
export function forSignedIn(
  context: SessionContext,
  handle: (visit: SignedInRequest) => Promise<unknown>,
) {
  return async (request: PageRequest, reply: PageReply) => {
    const returnTo = request.method === 'GET' ? request.url : null
    const user = await requireSignIn(context, { request, reply, returnTo })
    if (!user) return reply
    rememberWorkspace(context, { request, reply })
    return handle({ user, request, reply })
  }
}

const LAST_WORKSPACE = 'last-workspace'
const LAST_WORKSPACE_SECONDS = 365 * DAY_SECONDS

/** Keeps the workspace of a page in a cookie, so that the start page opens it again. */
function rememberWorkspace(
  { publicOrigin }: SessionContext,
  { request, reply }: Pick<SignedInRequest, 'request' | 'reply'>,
): void {
  const { workspace } = objectOrEmpty(request.params)
  const value = String(parseRowId(workspace))
  if (value === 'null' || value === readLastWorkspace(request.headers, publicOrigin())) return
  const cookie = { name: LAST_WORKSPACE, value, secondsMax: LAST_WORKSPACE_SECONDS }
  reply.header('set-cookie', serializeCookie(publicOrigin(), cookie))
}

/** The workspace that this browser opened last. Not validated: the user may not be a member. */
export function readLastWorkspace(
  { cookie }: { cookie?: string | undefined },
  origin: string,
): string | undefined {
  return readCookie(cookie, origin, LAST_WORKSPACE)
}

interface SignInCheck {
  request: { url: string; headers: { cookie?: string | undefined } }
  reply: { redirect(url: string, code: number): unknown }
  /** The path to return to after signing in; null for the start page. */
  returnTo: string | null
}

/**
 * Returns the signed-in user. Redirects and returns null when there is no session, or when the
 * user must replace a generated password first.
 */
export async function requireSignIn(
  context: SessionContext,
  { request, reply, returnTo }: SignInCheck,
): Promise<CurrentUser | null> {
  const user = await findCurrentUser(context, request.headers)
  if (!user) {
    const query = returnTo === null ? '' : `?return_to=${encodeURIComponent(returnTo)}`
    reply.redirect(`/sign-in${query}`, SEE_OTHER)
    return null
  }
  const [path] = request.url.split('?', 1)
  if (!user.mustChangePassword || path === FIRST_PASSWORD_PATH) return user
  reply.redirect(FIRST_PASSWORD_PATH, SEE_OTHER)
  return null
}

/** Redirects after a form (post/redirect/get), so that reloading does not submit it again. */
export function seeOther(reply: PageReply, path: string): unknown {
  return reply.redirect(path, SEE_OTHER)
}

interface SessionExchange {
  request: Pick<PageRequest, 'headers'> & EventRequest
  reply: Pick<PageReply, 'header'>
  token: string
  method: SignInMethod
}

/**
 * Sets the cookie of a new session and ends the session that the browser sent, so that an attacker
 * who planted or copied that one gains nothing (session fixation). The browser becomes a known
 * device of the account.
 */
export async function replaceSession(
  context: UsersContext,
  { request, reply, token, method }: SessionExchange,
): Promise<void> {
  const { database, now, publicOrigin } = context
  const { cookie } = request.headers
  const previous = await findCurrentUser(context, { cookie })
  if (previous) await deleteSession(database, previous.userId, previous.sessionId)
  reply.header('set-cookie', sessionCookie(publicOrigin(), token))
  const user = await findSession(database, hashSessionToken(token), now())
  if (!user) return
  reply.header('set-cookie', await knownDeviceCookie(context, { cookie, email: user.email }))
  const type = 'sign_in.succeeded'
  await context.recordSecurityEvent({ type, user, request, details: { method } })
}

interface CompletedSignIn {
  request: Pick<PageRequest, 'headers'> & EventRequest
  reply: Pick<PageReply, 'header' | 'redirect'>
  session: NewSession
  returnTo: string
  method: SignInMethod
}

export const SECOND_FACTOR_PATH = '/sign-in/second-factor'

/** Sets the cookie of a new session and redirects, first to the page that asks for a code. */
export async function completeSignIn(
  context: UsersContext,
  { request, reply, session, returnTo, method }: CompletedSignIn,
): Promise<unknown> {
  await replaceSession(context, { request, reply, token: session.token, method })
  const { outcome } = session
  const query = new URLSearchParams({ return_to: returnTo })
  return reply.redirect(
    outcome === 'signed_in' ? returnTo : `${SECOND_FACTOR_PATH}?${query}`,
    SEE_OTHER,
  )
}

const RETURN_CHARACTERS_MAX = 2_000
export const returnField = formText(RETURN_CHARACTERS_MAX)
const RETURN_FORM = Type.Object({ return_to: returnField })

const pageQuery = new Validator(
  Type.Object({ ...PageQuery.properties, return_to: Type.Optional(Type.String()) }),
  { coerceTypes: true },
)

/** The page of a list that a query names; the first one for anything that is no number. */
export function readPageNumber(query: unknown): number {
  return pageQuery.pickValid(query).page ?? 1
}

/** Where to go after signing in, by the form or else the query of a request. */
export function readReturnPath({ body, query }: { body?: unknown; query: unknown }): string {
  return safeReturnPath(
    readForm(body, RETURN_FORM).return_to || pageQuery.pickValid(query).return_to,
  )
}

/** What the pages of this module confirm. */
export const NOTICES = new Notices({
  app_removed: 'Authenticator app removed.',
  passkey_added: 'Passkey added.',
  passkey_removed: 'Passkey removed.',
  identity_confirmed: 'Identity confirmed.',
  password_reset: 'Password changed. You are signed out everywhere. Sign in with the new password.',
  password_changed: 'Password changed. You are signed out everywhere else.',
  session_ended: 'Session ended.',
  signed_out: 'You are signed out.',
  provider_refused: 'Sign-in with the provider failed. Try again, or sign in another way.',
  provider_unconfirmed:
    'The sign-in did not confirm your identity. Sign in with your own account, and do not skip it.',
  email_unverified:
    'The provider does not say that your address is verified, so it cannot sign you in.',
  domain_not_allowed: 'Addresses of this domain may not sign in with this provider.',
  account_unverified:
    'This address has an account, but never confirmed it. Choose a new password by email first.',
  another_identity:
    'The account of this address belongs to another identity of the provider. Ask the operator.',
  sign_up_refused:
    'This service does not let this address create an account. Ask an owner for an invitation.',
  invitation_declined: 'You declined the invitation.',
})
