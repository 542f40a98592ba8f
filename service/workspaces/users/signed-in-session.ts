import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { refuseUnknownMembers } from '../../runtime/http/unknown-members.ts'
import { requireSameOrigin } from '../../runtime/pages/serve-pages.ts'
import { type CurrentUser, findCurrentUser, type SessionContext } from './session-store.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in user, on routes that require a session. */
    user: CurrentUser
  }
}

const NO_PERSON = null as unknown as CurrentUser

/**
 * Makes `app`, an encapsulated part of the service, require the session cookie. For scripts of our
 * own pages: replies 403 to another site, 401 without a session, and 403 while the user must
 * replace a generated password. Bodies are JSON, which a form of another site cannot send, without
 * unknown members. Call it before the routes are added.
 */
export function requireSession(app: ServiceApp, context: SessionContext): void {
  app.decorateRequest('user', NO_PERSON)
  refuseUnknownMembers(app)
  app.addHook('onRequest', async ({ headers, method }) => {
    const isReading = method === 'GET' || method === 'HEAD'
    if (!isReading) requireSameOrigin(headers, context.publicOrigin())
    else if (!SAME_ORIGIN_FETCH_SITES.includes(headers['sec-fetch-site']))
      throw new Refusal(403, CROSS_SITE_MESSAGE)
  })
  app.addHook('onRequest', async request => {
    const user = await findCurrentUser(context, request.headers)
    if (!user) throw new Refusal(401, 'Unauthenticated.', { headers: CHALLENGE })
    if (user.mustChangePassword) throw new Refusal(403, 'Choose your own password first.')
    request.user = user
  })
}

/** `none`: the address was typed. Absent: not a browser, or one from before 2023. */
const SAME_ORIGIN_FETCH_SITES: readonly unknown[] = ['same-origin', 'none', undefined]
const CROSS_SITE_MESSAGE = 'This API only serves pages of this site.'
/** RFC 9110, 15.5.2 requires a challenge. No bearer token opens these routes. */
const CHALLENGE = { 'www-authenticate': 'Session' }
