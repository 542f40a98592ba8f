import { corsHeaders, readBearerToken } from '../../runtime/http/headers.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { RouteConfig, ServiceApp } from '../../runtime/http/service-app.ts'
import { objectOrEmpty } from '../../runtime/util/is-object.ts'
import { parseTokenKind, TOKEN_PREFIXES } from '../../runtime/util/token-format.ts'
import type { AuthenticatePublishableKey, BrowserCaller } from './authenticate-publishable-key.ts'
import type { AuthenticateTracker } from './authenticate-tracker.ts'
import type { TrackerIdentity } from './tracker-store.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated tracker, on routes that accept its keys. */
    tracker: TrackerIdentity
    /** Set when the request was authenticated by a publishable key. */
    browser: BrowserCaller | null
  }
  interface FastifyContextConfig extends RouteConfig {}
}

declare module '../../runtime/http/short-road.ts' {
  interface RoadRequest {
    tracker: TrackerIdentity
    browser: BrowserCaller | null
  }
}

const NO_TRACKER = null as unknown as TrackerIdentity

/**
 * Enforces each route's credential before its body is read, so that an unauthenticated caller
 * learns nothing about the body. A route without a declared credential fails the start, so that an
 * omission cannot open it. Without `authenticatePublishableKey` no publishable key is accepted.
 */
export function guardRoutes(
  app: ServiceApp,
  authenticate: AuthenticateTracker,
  authenticatePublishableKey?: AuthenticatePublishableKey,
): void {
  app.decorateRequest('tracker', NO_TRACKER)
  app.decorateRequest('browser', null)
  app.addHook('onRoute', route => {
    if (!route.config?.credential) throw new Error(`the route ${route.url} names no credential`)
    if (route.config.credential === 'tracker_or_publishable') route.onSend = addCorsHeaders
  })
  // Only credentials that were looked up a moment ago. Others, and forwarders, take the hooks.
  app.shortRoad.addGate((request, reply) => {
    const { headers, raw } = request
    const isOfPage = headers.authorization?.includes(TOKEN_PREFIXES.publishable) === true
    const key = isOfPage ? readPublishableKey(request) : null
    if (key !== null && authenticatePublishableKey?.findKnown) {
      const peer = raw.socket.remoteAddress
      const caller = authenticatePublishableKey.findKnown({ key, headers, peer })
      if (caller === null || !ASCII.test(headers.origin ?? '')) return false
      if (headers.origin !== undefined) reply.lastHeaders = corsHeaders(headers.origin)
      request.tracker = caller.tracker
      request.browser = caller.browser
      return true
    }
    if (headers.origin !== undefined) return false
    const tracker = authenticate.findKnown?.(headers.authorization) ?? null
    if (tracker === null) return false
    request.tracker = tracker
    request.browser = null
    return true
  })
  app.addHook('onRequest', async request => {
    const { credential } = request.routeOptions.config
    if (credential !== 'tracker' && credential !== 'tracker_or_publishable') return
    const key = credential === 'tracker' ? null : readPublishableKey(request)
    if (key === null || !authenticatePublishableKey) {
      request.tracker = await authenticate(request.headers.authorization)
      // Only browsers send an Origin. A secret in a page is public.
      if (request.headers.origin !== undefined) {
        throw new Refusal(403, SECRET_IN_BROWSER, { reason: 'secret_in_browser' })
      }
      return
    }
    const { headers, socket } = request
    const caller = await authenticatePublishableKey({ key, headers, peer: socket.remoteAddress })
    request.tracker = caller.tracker
    request.browser = caller.browser
    request.bodyRules = { isTextAllowed: true, verify: caller.verifyBody }
  })
}

/** Other characters in a header would depend on the encoding of the body. */
const ASCII = /^[ -~]*$/

const SECRET_IN_BROWSER =
  'This tracker secret came from a browser (Origin header), where anyone can read it: ' +
  'revoke it, and send events from your server.'

/** Applies to every response of the route, so that a page can also read why it was refused. */
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

/** The parts of a request that may carry a credential. */
interface CredentialSource {
  headers: { authorization?: string | undefined; origin?: string | undefined }
  query: unknown
}

/**
 * Returns the publishable key of a request, known or not; null when it carries another credential.
 * The key may be in the query, because a beacon has no headers and the key is public. Any other
 * value there is 401, also beside a valid header: a secret in a URL is already in many logs.
 */
function readPublishableKey({ headers, query }: CredentialSource): string | null {
  const { key } = objectOrEmpty(query)
  if (key !== undefined && !hasPublishablePrefix(key)) throw Refusal.unauthenticated()
  if (headers.authorization === undefined) return hasPublishablePrefix(key) ? key : null
  const token = readBearerToken(headers.authorization)
  return hasPublishablePrefix(token) ? token : null
}

/**
 * Whether a page may read the response. It may not when the request carries a well-formed
 * credential of another kind, which does not belong in a page.
 */
function isReadableByPages({ headers }: CredentialSource): boolean {
  const token = readBearerToken(headers.authorization)
  const kind = token === null ? null : parseTokenKind(token)
  return kind === null || kind === 'publishable'
}

/** Checks the prefix only: a mistyped publishable key is still no secret. */
function hasPublishablePrefix(token: unknown): token is string {
  return typeof token === 'string' && token.startsWith(TOKEN_PREFIXES.publishable)
}
