import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import type { FormErrors } from '../pages/form-controls.ts'
import { requireSameOrigin } from '../pages/serve-pages.ts'
import type { PeopleContext } from './people-context.ts'
import {
  type CurrentPerson,
  deleteSession,
  findCurrentPerson,
  type SessionContext,
} from './session-store.ts'
import { sessionCookie } from './session-token.ts'

/** As much of a request and its answer as pages need. */
export interface PageRequest {
  method: string
  url: string
  headers: { cookie?: string | undefined; 'user-agent'?: string | undefined }
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
  person: CurrentPerson
  request: PageRequest
  reply: PageReply
}

const SEE_OTHER = 303
/** Where somebody with a password that was made for them may go. */
const FIRST_PASSWORD_PATH = '/account/password'

/**
 * Makes the handler of a page for who is signed in. Others are led to sign in and then back, but
 * for a form, which is not sent again by itself.
 */
export function requireSignIn(
  context: PeopleContext,
  handle: (visit: SignedInRequest) => Promise<unknown>,
) {
  return async (request: PageRequest, reply: PageReply) => {
    const person = await findCurrentPerson(context, request.headers)
    if (!person) {
      const query = request.method === 'GET' ? `?return_to=${encodeURIComponent(request.url)}` : ''
      return reply.redirect(`/sign-in${query}`, SEE_OTHER)
    }
    const path = request.url.split('?', 1)[0]
    if (person.mustChangePassword && path !== FIRST_PASSWORD_PATH) {
      return reply.redirect(FIRST_PASSWORD_PATH, SEE_OTHER)
    }
    return handle({ person, request, reply })
  }
}

/** After a form: the next page is asked for anew, so that reloading sends nothing twice. */
export function seeOther(reply: PageReply, path: string): unknown {
  return reply.redirect(path, SEE_OTHER)
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is signed in, on routes that a session opens. */
    person: CurrentPerson
  }
}

const NO_PERSON = null as unknown as CurrentPerson

/**
 * Makes `app`, a part of the service with hooks of its own, one that a session's cookie opens, for
 * scripts of our own pages: 403 to another site, 401 to nobody, 403 to who must choose a password
 * first. Bodies are JSON, which no form of another site can send.
 */
export function requireSession(app: ServiceApp, context: SessionContext): void {
  app.decorateRequest('person', NO_PERSON)
  app.addHook('onRequest', async ({ headers, method }) => {
    const isReading = method === 'GET' || method === 'HEAD'
    if (!isReading) requireSameOrigin(headers, context.publicOrigin())
    else if (!SAME_ORIGIN_FETCH_SITES.includes(headers['sec-fetch-site']))
      throw new Refusal(403, CROSS_SITE_MESSAGE)
  })
  app.addHook('onRequest', async request => {
    const person = await findCurrentPerson(context, request.headers)
    if (!person) throw new Refusal(401, 'Unauthenticated.', { headers: CHALLENGE })
    if (person.mustChangePassword) throw new Refusal(403, 'Choose a password of your own first.')
    request.person = person
  })
}

/** `none`: somebody typed the address. Not sent: no browser, or one of before 2023. */
const SAME_ORIGIN_FETCH_SITES: readonly unknown[] = ['same-origin', 'none', undefined]
const CROSS_SITE_MESSAGE = 'This interface is for our own pages only.'
/** RFC 9110, 15.5.2 wants one. No bearer credential opens these routes. */
const CHALLENGE = { 'www-authenticate': 'Session' }

interface NewSession {
  request: Pick<PageRequest, 'headers'>
  reply: Pick<PageReply, 'header'>
  token: string
}

/**
 * Gives the browser its new session. The one that it brought ends: whoever planted that one, or
 * kept a copy of it, gains nothing when somebody signs in (session fixation).
 */
export async function replaceSession(
  context: PeopleContext,
  { request, reply, token }: NewSession,
): Promise<void> {
  const before = await findCurrentPerson(context, request.headers)
  if (before) await deleteSession(context.database, before.userId, before.sessionId)
  reply.header('set-cookie', sessionCookie(context.publicOrigin(), token))
}

/**
 * What a form shows of a 422: the first sentence about each field. Throws everything else again.
 */
export function toFormErrors(error: unknown): FormErrors {
  if (!(error instanceof Refusal) || error.status !== 422) throw error
  const entries = Object.entries(error.errors ?? { '': [error.message] })
  return Object.fromEntries(entries.map(([name, [sentence = '']]) => [name, sentence]))
}

/**
 * What a page says after something was done, by the word in its query. Fixed sentences: a link can
 * make our pages say one of these, and nothing else.
 */
const NOTICES: Record<string, string> = {
  password_reset: 'Your password is changed, and you are signed out everywhere. Sign in with it.',
  password_changed: 'Your password is changed, and you are signed out everywhere else.',
  session_ended: 'That session is ended.',
  signed_out: 'You are signed out.',
  provider_refused: 'Signing in there did not work. Try again, or use another way.',
  workspace_created: 'The workspace is made. Add the ad account that it is for.',
  invited: 'The invitation is on its way.',
  invitation_withdrawn: 'The invitation is withdrawn.',
  invitation_declined: 'You declined the invitation.',
  role_changed: 'The role is changed.',
  member_removed: 'They do not belong to this workspace any more.',
  left: 'You left the workspace.',
  joined: 'You belong to this workspace now.',
  account_added: 'The ad account is added.',
  account_disabled: 'The ad account is disabled: whatever was bound to it has stopped.',
  account_enabled: 'The ad account is enabled.',
}

/** The sentence that a query asks for; undefined without one. */
export function findNotice(query: unknown): string | undefined {
  const name = (query as { done?: unknown } | null)?.done
  return typeof name === 'string' && Object.hasOwn(NOTICES, name) ? NOTICES[name] : undefined
}
