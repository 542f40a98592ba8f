import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { requireSameOrigin } from '../pages/require-same-origin.ts'
import { type CurrentPerson, currentPerson, type SessionContext } from './current-person.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is signed in, on routes that a session opens. */
    person: CurrentPerson
  }
}

const NOBODY = null as unknown as CurrentPerson

/**
 * Makes `app`, a part of the service with hooks of its own, one that a session's cookie opens, for
 * scripts of our own pages: 403 to another site, 401 to nobody, 403 to who must choose a password
 * first. Bodies are JSON, which no form of another site can send.
 */
export function guardSessions(app: ServiceApp, context: SessionContext): void {
  app.decorateRequest('person', NOBODY)
  app.addHook('onRequest', async ({ headers, method }) => {
    const isReading = method === 'GET' || method === 'HEAD'
    if (!isReading) requireSameOrigin(headers, context.publicOrigin())
    else if (!OWN_READERS.includes(headers['sec-fetch-site'])) throw new Refusal(403, FOREIGN)
  })
  app.addHook('onRequest', async request => {
    const person = await currentPerson(context, request.headers)
    if (!person) throw new Refusal(401, 'Unauthenticated.', { headers: CHALLENGE })
    if (person.mustChangePassword) throw new Refusal(403, 'Choose a password of your own first.')
    request.person = person
  })
}

/** `none`: somebody typed the address. Not sent: no browser, or one of before 2023. */
const OWN_READERS: readonly unknown[] = ['same-origin', 'none', undefined]
const FOREIGN = 'This interface is for our own pages only.'
/** RFC 9110, 15.5.2 wants one. No bearer credential opens these routes. */
const CHALLENGE = { 'www-authenticate': 'Session' }
