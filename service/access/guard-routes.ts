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
    request.tracker = await authenticate(request.headers.authorization)
  })
}
