import type { Database } from '../db/database.ts'
import { readHeaderText } from '../http/read-header-text.ts'
import { Refusal } from '../http/refusal.ts'
import type { BrowserCaller, EdgeClient } from './browser-caller.ts'
import { readForwarding } from './forwarding-signature.ts'
import { forwardingVerification } from './forwarding-verification.ts'
import { knownTokens } from './known-tokens.ts'
import { type LastUseOptions, lastUse } from './last-use.ts'
import { matchesOrigin } from './origin-pattern.ts'
import { findPublishableKey, type TrackerIdentity } from './store.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

export interface BrowserRequest {
  key: string
  headers: Record<string, string | string[] | undefined>
  /** The address at the other end of the connection. */
  peer: string | undefined
}

export interface AdmittedBrowser {
  tracker: TrackerIdentity
  browser: BrowserCaller
  /** What is still to be asked of the body's bytes. */
  inspect: ((body: Buffer) => Promise<void>) | null
}

/** Throws a Refusal: 401 for the key or the forwarder's signature, 403 for the page's origin. */
export type AdmitBrowser = (request: BrowserRequest) => Promise<AdmittedBrowser>

export interface AdmissionOptions extends LastUseOptions {
  proxies: TrustedProxies
}

/**
 * Judges a request with a publishable key. The key is public, so an Origin is asked for only where
 * there is one: every browser names it, and whoever is no browser could write any. What is known of
 * the browser comes from a signature or from a trusted proxy, never from the socket: there is a
 * server of the shop as likely as its visitor.
 */
export function browserAdmission(database: Database, options: AdmissionOptions): AdmitBrowser {
  const onUsed = lastUse(database, options)
  const keyOf = knownTokens('publishable', {
    find: digest => findPublishableKey(database, digest),
    onUsed,
  })
  const verify = forwardingVerification(database, { now: options.now, onUsed })

  return async ({ key, headers, peer }) => {
    const { origins, ...tracker } = await keyOf(key)
    const { origin } = headers
    if (origin !== undefined && !matchesOrigin(origins, String(origin))) {
      throw new Refusal(403, FOREIGN_ORIGIN)
    }
    const forwarding = readForwarding(headers)
    if (forwarding) {
      const { clientIp, clientUserAgent } = forwarding
      const edge = edgeClient(clientIp, clientUserAgent)
      return { tracker, browser: { edge }, inspect: verify(tracker.trackerId, forwarding) }
    }
    const edge = options.proxies.isTrusted(peer) ? proxiedClient(options.proxies, headers) : null
    return { tracker, browser: { edge }, inspect: null }
  }
}

const FOREIGN_ORIGIN =
  'The origin of this page is not registered for the publishable key: issue a key that names it.'

function proxiedClient(
  proxies: TrustedProxies,
  { 'x-forwarded-for': chain, 'user-agent': userAgent }: BrowserRequest['headers'],
): EdgeClient {
  const ipAddress = proxies.clientOf(chain === undefined ? undefined : String(chain))
  return edgeClient(ipAddress ?? '', String(userAgent ?? ''))
}

/** Empty stands for unknown, as in a signature. */
function edgeClient(ipAddress: string, userAgent: string): EdgeClient {
  return { ipAddress: ipAddress || null, userAgent: readHeaderText(userAgent) || null }
}
