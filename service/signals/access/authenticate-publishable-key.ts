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
import { matchesOrigin } from './origin-pattern.ts'
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

/** Throws a Refusal: 401 for the key or the forwarder's signature, 403 for the page's origin. */
export type AuthenticatePublishableKey = (
  request: BrowserRequest,
) => Promise<AuthenticatedPublishableKey>

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

  return async ({ key, headers, peer }) => {
    const { origins, keyId, ...tracker } = await findKey(key)
    const { origin } = headers
    if (origin !== undefined && !matchesOrigin(origins, String(origin))) {
      throw new Refusal(403, UNREGISTERED_ORIGIN, { reason: 'origin_not_registered' })
    }
    const hasGpcHeader = isGpcHeader(headers['sec-gpc'])
    const forwarding = readForwardingHeaders(headers)
    if (forwarding) {
      const { clientIp, clientUserAgent } = forwarding
      const edge = createEdgeClient(clientIp, clientUserAgent)
      return {
        tracker,
        browser: { keyId, edge, isForwarded: true, hasGpcHeader },
        verifyBody: verifyForwarding(tracker.trackerId, forwarding),
      }
    }
    const edge = options.proxies.isTrusted(parseIpAddress(peer ?? ''))
      ? readProxiedClient(options.proxies, headers)
      : null
    return { tracker, browser: { keyId, edge, isForwarded: false, hasGpcHeader }, verifyBody: null }
  }
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
