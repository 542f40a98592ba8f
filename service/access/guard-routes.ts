import { Refusal } from '../http/refusal.ts'
import type { RouteConfig, ServiceApp } from '../http/service-app.ts'
import type { AuthenticateTracker } from './authenticate-tracker.ts'
import type { TrackerIdentity } from './store.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whom the request speaks for, on routes whose credential is `tracker`. */
    tracker: TrackerIdentity
  }
  interface FastifyContextConfig extends RouteConfig {}
}

const NOBODY = null as unknown as TrackerIdentity

/**
 * Enforces each route's credential before its body is read, so that nobody unknown learns what a
 * body should look like. A route that names no credential stops the start: forgetting one must not
 * open it.
 */
export function guardRoutes(app: ServiceApp, authenticate: AuthenticateTracker): void {
  app.decorateRequest('tracker', NOBODY)
  app.addHook('onRoute', ({ url, config }) => {
    if (!config?.credential) throw new Error(`the route ${url} names no credential`)
  })
  app.addHook('onRequest', async request => {
    if (request.routeOptions.config.credential !== 'tracker') return
    const { authorization, origin } = request.headers
    request.tracker = await authenticate(authorization)
    // Only browsers send it. A secret that a page holds is a secret that everybody has.
    if (origin !== undefined) throw new Refusal(403, SECRET_IN_BROWSER)
  })
}

const SECRET_IN_BROWSER =
  'This tracker secret came from a browser (Origin header), where anybody can read it: ' +
  'revoke it, and send events from your server.'
