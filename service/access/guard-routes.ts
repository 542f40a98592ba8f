import { Refusal } from '../http/refusal.ts'
import { corsHeaders } from '../http/response-headers.ts'
import type { RouteConfig, ServiceApp } from '../http/service-app.ts'
import {
  type AuthenticateBrowser,
  type BrowserCaller,
  type CredentialSource,
  isReadableByPages,
  readPublishableKey,
} from './authenticate-browser.ts'
import type { AuthenticateTracker } from './authenticate-tracker.ts'
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

const NO_TRACKER = null as unknown as TrackerIdentity

/**
 * Enforces each route's credential before its body is read, so that nobody unknown learns what a
 * body should look like. A route that names no credential stops the start: forgetting one must not
 * open it. Without `admitBrowser` a publishable key opens nothing.
 */
export function guardRoutes(
  app: ServiceApp,
  authenticate: AuthenticateTracker,
  admitBrowser?: AuthenticateBrowser,
): void {
  app.decorateRequest('tracker', NO_TRACKER)
  app.decorateRequest('browser', null)
  app.addHook('onRoute', route => {
    if (!route.config?.credential) throw new Error(`the route ${route.url} names no credential`)
    if (route.config.credential === 'tracker_or_publishable') route.onSend = addCorsHeaders
  })
  app.addHook('onRequest', async request => {
    const { credential } = request.routeOptions.config
    if (credential !== 'tracker' && credential !== 'tracker_or_publishable') return
    const key = credential === 'tracker' ? null : readPublishableKey(request)
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
    request.bodyTerms = { isTextAllowed: true, verify: admitted.verifyBody }
  })
}

const SECRET_IN_BROWSER =
  'This tracker secret came from a browser (Origin header), where anybody can read it: ' +
  'revoke it, and send events from your server.'

/** On every answer of the route, so that a page also learns why it was refused. */
function addCorsHeaders(
  request: CredentialSource,
  reply: { headers: (values: Record<string, string>) => unknown },
  payload: unknown,
  done: (error: null, payload: unknown) => void,
): void {
  const { origin } = request.headers
  if (origin !== undefined && isReadableByPages(request)) reply.headers(corsHeaders(origin))
  done(null, payload)
}
