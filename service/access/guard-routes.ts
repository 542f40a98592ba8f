import { corsHeaders } from '../http/cors-headers.ts'
import { Refusal } from '../http/refusal.ts'
import type { RouteConfig, ServiceApp } from '../http/service-app.ts'
import type { AuthenticateTracker } from './authenticate-tracker.ts'
import type { AdmitBrowser } from './browser-admission.ts'
import type { BrowserCaller } from './browser-caller.ts'
import { isForPages, type Presentation, presentedKey } from './presented-key.ts'
import type { TrackerIdentity } from './store.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whom the request speaks for, on routes that a tracker's keys open. */
    tracker: TrackerIdentity
    /** Set when a publishable key opened the route. */
    browser: BrowserCaller | null
  }
  interface FastifyContextConfig extends RouteConfig {}
}

const NOBODY = null as unknown as TrackerIdentity

/**
 * Enforces each route's credential before its body is read, so that nobody unknown learns what a
 * body should look like. A route that names no credential stops the start: forgetting one must not
 * open it. Without `admitBrowser` a publishable key opens nothing.
 */
export function guardRoutes(
  app: ServiceApp,
  authenticate: AuthenticateTracker,
  admitBrowser?: AdmitBrowser,
): void {
  app.decorateRequest('tracker', NOBODY)
  app.decorateRequest('browser', null)
  app.addHook('onRoute', route => {
    if (!route.config?.credential) throw new Error(`the route ${route.url} names no credential`)
    if (route.config.credential === 'tracker_or_publishable') route.onSend = answerPages
  })
  app.addHook('onRequest', async request => {
    const { credential } = request.routeOptions.config
    if (credential !== 'tracker' && credential !== 'tracker_or_publishable') return
    const key = credential === 'tracker' ? null : presentedKey(request)
    if (key === null || !admitBrowser) {
      request.tracker = await authenticate(request.headers.authorization)
      // Only browsers send it. A secret that a page holds is a secret that everybody has.
      if (request.headers.origin !== undefined) throw new Refusal(403, SECRET_IN_BROWSER)
      return
    }
    const { headers, socket } = request
    const admitted = await admitBrowser({ key, headers, peer: socket.remoteAddress })
    request.tracker = admitted.tracker
    request.browser = admitted.browser
    request.bodyTerms = { mayBeText: true, inspect: admitted.inspect }
  })
}

const SECRET_IN_BROWSER =
  'This tracker secret came from a browser (Origin header), where anybody can read it: ' +
  'revoke it, and send events from your server.'

/** On every answer of the route, so that a page also learns why it was refused. */
function answerPages(
  request: Presentation,
  reply: { headers: (values: Record<string, string>) => unknown },
  payload: unknown,
  done: (error: null, payload: unknown) => void,
): void {
  const { origin } = request.headers
  if (origin !== undefined && isForPages(request)) reply.headers(corsHeaders(origin))
  done(null, payload)
}
