import type { Database } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import { readBearerToken, readHeaderText } from '../http/request-headers.ts'
import { parseIpAddress } from '../util/ip-address.ts'
import {
  createLastUseRecorder,
  createTokenCache,
  type LastUseOptions,
} from './authenticate-tracker.ts'
import type { TrustedProxies } from './client-address.ts'
import { createForwardingVerifier, readForwardingHeaders } from './forwarding-signature.ts'
import { matchesOrigin } from './origin-pattern.ts'
import { findPublishableKey, type TrackerIdentity } from './store.ts'
import { parseTokenKind, TOKEN_PREFIXES } from './token-format.ts'

interface BrowserRequest {
  key: string
  headers: Record<string, string | string[] | undefined>
  /** The address at the other end of the connection. */
  peer: string | undefined
}

interface AuthenticatedBrowser {
  tracker: TrackerIdentity
  browser: BrowserCaller
  /** What is still to be asked of the body's bytes. */
  verifyBody: ((body: Buffer) => Promise<void>) | null
}

/** Throws a Refusal: 401 for the key or the forwarder's signature, 403 for the page's origin. */
export type AuthenticateBrowser = (request: BrowserRequest) => Promise<AuthenticatedBrowser>

interface BrowserAuthenticationOptions extends LastUseOptions {
  proxies: TrustedProxies
}

/**
 * Judges a request with a publishable key. The key is public, so an Origin is asked for only where
 * there is one: every browser names it, and whoever is no browser could write any. What is known of
 * the browser comes from a signature or from a trusted proxy, never from the socket: there is a
 * server of the shop as likely as its visitor.
 */
export function createBrowserAuthenticator(
  database: Database,
  options: BrowserAuthenticationOptions,
): AuthenticateBrowser {
  const onUsed = createLastUseRecorder(database, options)
  const keyOf = createTokenCache('publishable', {
    find: digest => findPublishableKey(database, digest),
    onUsed,
  })
  const verify = createForwardingVerifier(database, { now: options.now, onUsed })

  return async ({ key, headers, peer }) => {
    const { origins, ...tracker } = await keyOf(key)
    const { origin } = headers
    if (origin !== undefined && !matchesOrigin(origins, String(origin))) {
      throw new Refusal(403, UNREGISTERED_ORIGIN)
    }
    const forwarding = readForwardingHeaders(headers)
    if (forwarding) {
      const { clientIp, clientUserAgent } = forwarding
      const edge = createEdgeClient(clientIp, clientUserAgent)
      return { tracker, browser: { edge }, verifyBody: verify(tracker.trackerId, forwarding) }
    }
    const edge = options.proxies.isTrusted(parseIpAddress(peer ?? ''))
      ? readProxiedClient(options.proxies, headers)
      : null
    return { tracker, browser: { edge }, verifyBody: null }
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

/** Empty stands for unknown, as in a signature. */
function createEdgeClient(ipAddress: string, userAgent: string): EdgeClient {
  return { ipAddress: ipAddress || null, userAgent: readHeaderText(userAgent) || null }
}

/** Who sends with a publishable key: a browser, directly or through somebody else. */
export interface BrowserCaller {
  /** Null: nobody who is trusted stands before us, so nothing is known of the browser. */
  edge: EdgeClient | null
}

/** A browser as a trusted edge saw it. Both may be personal data. */
export interface EdgeClient {
  ipAddress: string | null
  userAgent: string | null
}

/** Where a credential may stand. */
export interface CredentialSource {
  headers: { authorization?: string | undefined; origin?: string | undefined }
  query: unknown
}

/**
 * The publishable key that a request presents, known or not; null when it presents something else.
 * It may stand in the query, since a beacon carries no headers and the key is public. Anything else
 * there is 401, whatever the header says: a secret in a URL is in many logs by now.
 */
export function readPublishableKey({ headers, query }: CredentialSource): string | null {
  const { key } = query as { key?: unknown }
  if (key !== undefined && !hasPublishablePrefix(key)) throw Refusal.unauthenticated()
  if (headers.authorization === undefined) return (key as string | undefined) ?? null
  const token = readBearerToken(headers.authorization)
  return hasPublishablePrefix(token) ? token : null
}

/**
 * Whether an answer is for a page to read. Not when the request brought a well-formed credential
 * of another kind: no page should get to work with one.
 */
export function isReadableByPages({ headers }: CredentialSource): boolean {
  const token = readBearerToken(headers.authorization)
  const kind = token === null ? null : parseTokenKind(token)
  return kind === null || kind === 'publishable'
}

/** A mistyped one is still no secret. */
function hasPublishablePrefix(token: unknown): token is string {
  return typeof token === 'string' && token.startsWith(TOKEN_PREFIXES.publishable)
}
