import { isObject } from '../../runtime/util/is-object.ts'
import { TtlCache } from '../../runtime/util/load-cache.ts'
import { type PublicClientOptions, requestPublicHost } from '../../runtime/webhooks/client.ts'
import { findDocumentUrlError, parseClientDocument } from './client-metadata.ts'
import type { OauthClient } from './client-store.ts'

/**
 * Returns the client that a URL describes; null if there is none, or it is not accepted. The
 * address is the one whose request names the URL, as the rate limits count it.
 */
export type FindDocumentClient = (url: string, address: string) => Promise<OauthClient | null>

/** What a client ID metadata document may have; the draft recommends 5 KB. */
const DOCUMENT_BYTES_MAX = 16_384
const TIMEOUT_MILLISECONDS = 5_000
/** Failures too, so that a caller cannot make us request the same URL all the time. */
const CACHE = { ttlMilliseconds: 300_000, entriesMax: 500 }
/** A caller names the URLs: it must not hold more sockets than this. */
const REQUESTS_MAX = 10
/** Nor may one address, with documents that never end, keep everyone else from connecting. */
const REQUESTS_PER_ADDRESS_MAX = 2

/**
 * Reads client ID metadata documents (draft-ietf-oauth-client-id-metadata-document): a client
 * whose ID is the https URL of its own description, instead of a registration. The URL comes from
 * anyone, so that the rules of webhooks hold: public addresses only, no redirects, little time.
 */
export function createDocumentClientFinder(
  nativeSchemes: readonly string[],
  options: PublicClientOptions = {},
): FindDocumentClient {
  /** The address of each open request. */
  const open: string[] = []
  const limits = { timeoutMilliseconds: TIMEOUT_MILLISECONDS, ...options }
  const cache = new TtlCache<OauthClient | null>(async url => {
    const document = await fetchDocument(url, limits)
    return document && parseClientDocument(url, document, nativeSchemes)
  }, CACHE)
  return async (url, address) => {
    if (findDocumentUrlError(url) !== null) return null
    if (cache.has(url)) return cache.get(url)
    const own = open.filter(other => other === address).length
    if (open.length >= REQUESTS_MAX || own >= REQUESTS_PER_ADDRESS_MAX) return null
    open.push(address)
    try {
      return await cache.get(url)
    } finally {
      open.splice(open.indexOf(address), 1)
    }
  }
}

/** The JSON object at a URL; null if there is none, for any reason. */
async function fetchDocument(
  url: string,
  options: PublicClientOptions,
): Promise<Record<string, unknown> | null> {
  const request = { method: 'GET', url, headers: { accept: 'application/json' } } as const
  try {
    const answer = await requestPublicHost({ ...request, bytesMax: DOCUMENT_BYTES_MAX }, options)
    const type = answer?.headers['content-type'] ?? ''
    if (answer?.status !== 200 || answer.body === null || !IS_JSON.test(type)) return null
    const document: unknown = JSON.parse(answer.body)
    return isObject(document) ? document : null
  } catch {
    return null
  }
}

const IS_JSON = /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/i
