import type { Database } from '../../runtime/db/database.ts'
import type { TrustedProxies } from '../../runtime/http/client-address.ts'
import { readHeaderText } from '../../runtime/http/headers.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { parseIpAddress } from '../../runtime/util/ip-address.ts'
import {
  createLastUseRecorder,
  createTokenCache,
  type LastUseOptions,
} from './authenticate-tracker.ts'
import {
  createForwardingVerifier,
  isGpcHeader,
  readForwardingHeaders,
} from './forwarding-signature.ts'
import { findLiveKeys } from './key-store.ts'
import type { TrackerIdentity } from './tracker-store.ts'

interface BrowserRequest {
  key: string
  headers: Record<string, string | string[] | undefined>
  /** The address at the other end of the connection. */
  peer: string | undefined
}

interface AuthenticatedPublishableKey {
  tracker: TrackerIdentity
  browser: BrowserCaller
  /** Verifies the bytes of the body once they are read; null when there is nothing to verify. */
  verifyBody: ((body: Buffer) => Promise<void>) | null
}

export interface AuthenticatePublishableKey {
  /** Throws a Refusal: 401 for the key or the forwarder's signature, 403 for the page's origin. */
  (request: BrowserRequest): Promise<AuthenticatedPublishableKey>
  /**
   * The same for a key that this process looked up a moment ago. Null for any other, for an origin
   * that it may not have, and for a forwarder, whose signature is verified with the body.
   */
  findKnown?: (request: BrowserRequest) => AuthenticatedPublishableKey | null
}

interface PublishableKeyOptions extends LastUseOptions {
  proxies: TrustedProxies
}

/**
 * Authenticates requests that carry a publishable key. The Origin header is checked only when it is
 * present: every browser sends it, and any other program could send any value. The address and user
 * agent of the browser come from a forwarder's signature or from a trusted proxy, never from the
 * socket, whose peer may be a server of the shop.
 */
export function createPublishableKeyAuthenticator(
  database: Database,
  options: PublishableKeyOptions,
): AuthenticatePublishableKey {
  const onUsed = createLastUseRecorder(options)
  const findKey = createTokenCache('publishable', {
    findMany: async digests => {
      const found = await findLiveKeys(database, 'publishable', digests)
      return digests.map((digest, index) => {
        const key = found[index] ?? null
        return key && { ...key, keyId: digest.toString('base64') }
      })
    },
    onUsed,
  })
  const verifyForwarding = createForwardingVerifier(database, { now: options.now, onUsed })

  const isAllowed = (origins: readonly string[], { headers: { origin } }: BrowserRequest) =>
    origin === undefined || matchesOrigin(origins, String(origin))

  const authenticate = async (request: BrowserRequest) => {
    const { key, headers } = request
    const { origins, keyId, ...tracker } = await findKey.find(key)
    if (!isAllowed(origins, request)) {
      throw new Refusal(403, UNREGISTERED_ORIGIN, { reason: 'origin_not_registered' })
    }
    const forwarding = readForwardingHeaders(headers)
    if (forwarding) {
      const hasGpcHeader = isGpcHeader(headers['sec-gpc'])
      const { clientIp, clientUserAgent } = forwarding
      const edge = createEdgeClient(clientIp, clientUserAgent)
      return {
        tracker,
        browser: { keyId, edge, isForwarded: true, hasGpcHeader },
        verifyBody: verifyForwarding(tracker.trackerId, forwarding),
      }
    }
    return { tracker, browser: readBrowser(options.proxies, keyId, request), verifyBody: null }
  }
  const findKnown = (request: BrowserRequest) => {
    const known = readForwardingHeaders(request.headers) ? null : findKey.findKnown(request.key)
    if (!known || !isAllowed(known.origins, request)) return null
    const { origins: _, keyId, ...tracker } = known
    return { tracker, browser: readBrowser(options.proxies, keyId, request), verifyBody: null }
  }
  return Object.assign(authenticate, { findKnown })
}

/** A browser that sends its events itself, with or without a trusted proxy between. */
function readBrowser(
  proxies: TrustedProxies,
  keyId: string,
  { headers, peer }: BrowserRequest,
): BrowserCaller {
  const isTrusted = proxies.isTrusted(parseIpAddress(peer ?? ''))
  const edge = isTrusted ? readProxiedClient(proxies, headers) : null
  return { keyId, edge, isForwarded: false, hasGpcHeader: isGpcHeader(headers['sec-gpc']) }
}

const UNREGISTERED_ORIGIN =
  'The origin of this page is not registered for the publishable key: issue a key that names it.'

function readProxiedClient(
  proxies: TrustedProxies,
  { 'x-forwarded-for': chain, 'user-agent': userAgent }: BrowserRequest['headers'],
): EdgeClient {
  const address = proxies.findClientAddress(chain)
  return createEdgeClient(address?.toString() ?? '', String(userAgent ?? ''))
}

/** An empty text means unknown, as in a forwarding signature. */
function createEdgeClient(ipAddress: string, userAgent: string): EdgeClient {
  return { ipAddress: ipAddress || null, userAgent: readHeaderText(userAgent) || null }
}

/** The sender of a request with a publishable key: a browser, or a server on its behalf. */
export interface BrowserCaller {
  /** The digest of the publishable key. */
  keyId: string
  /** Null when no trusted edge vouches for the browser's address and user agent. */
  edge: EdgeClient | null
  /** Whether a forwarder signed the request, which is verified with the body. */
  isForwarded: boolean
  /** Whether the request has `Sec-GPC: 1`. Believed from anyone, because it can only restrict. */
  hasGpcHeader: boolean
}

/** A browser as a trusted edge saw it. Both may be personal data. */
export interface EdgeClient {
  ipAddress: string | null
  userAgent: string | null
}

/** Enough for one site and its test environments. */
export const ORIGINS_MAX = 20

const ORIGIN_CHARACTERS_MAX = 300
const ORIGIN = /^https?:\/\/[^/?#@\\\s]+$/i
const ANY_LOOPBACK_PORT = /^(https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])):\*$/i
const ANY_SUBDOMAIN = /^https:\/\/\*\.(?=[^:]*\.)(?![\d.]+(:|$))/i

/**
 * Returns the stored form of an origin pattern, or null when it is not allowed. An origin is a
 * scheme, a host and a port, as browsers send it (RFC 6454). Two wildcards exist: any port of a
 * loopback host, because tests use free ports (`http://127.0.0.1:*`), and the subdomains of a
 * domain at any depth, without the domain itself (`https://*.shop.example`). An origin is neither a
 * secret nor a proof; it stops a key that was copied from one site from working on another.
 */
export function normalizeOriginPattern(text: string): string | null {
  if (ANY_LOOPBACK_PORT.test(text)) return text.toLowerCase()
  if (!ANY_SUBDOMAIN.test(text)) return text.includes('*') ? null : canonicalizeOrigin(text)
  const domain = canonicalizeOrigin(text.replace('*.', ''))
  return domain && !domain.includes('*') ? domain.replace('https://', 'https://*.') : null
}

/** Whether one of the patterns matches the Origin header of a browser. */
export function matchesOrigin(patterns: readonly string[], origin: string): boolean {
  const canonical = canonicalizeOrigin(origin)
  return canonical !== null && patterns.some(pattern => matchesPattern(pattern, canonical))
}

function matchesPattern(pattern: string, origin: string): boolean {
  if (pattern.endsWith(':*')) {
    const anyPort = pattern.slice(0, -':*'.length)
    return origin === anyPort || origin.startsWith(`${anyPort}:`)
  }
  if (pattern.startsWith('https://*.')) {
    return origin.startsWith('https://') && origin.endsWith(pattern.slice('https://*'.length))
  }
  return origin === pattern
}

/** Lower case, ASCII, without the default port of the scheme: equal origins become equal texts. */
function canonicalizeOrigin(text: string): string | null {
  if (text.length > ORIGIN_CHARACTERS_MAX || !ORIGIN.test(text) || !URL.canParse(text)) return null
  return new URL(text).origin
}
