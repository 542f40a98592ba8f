import { isUtf8 } from 'node:buffer'
import { randomFillSync } from 'node:crypto'
import type { RawRequestDefaultExpression as Incoming } from 'fastify'

/** RFC 6750: `Authorization: Bearer <token>`. The scheme's case does not matter. */
export function readBearerToken(authorization: string | undefined): string | null {
  const match = authorization?.match(/^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i)
  return match?.[1] ?? null
}

/**
 * Decodes a header value. Node returns one character per byte; valid UTF-8 is decoded, anything
 * else stays as it is.
 */
export function readHeaderText(value: string): string {
  if (/^[\0-\x7f]*$/.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : value
}

/** Headers that decide how a request is handled: with two, an edge could have used the other. */
const SINGLE_HEADERS = new Set([
  'host',
  'authorization',
  'content-type',
  'content-encoding',
  'idempotency-key',
  'origin',
])

/** A name or an address, and a port (RFC 3986, 3.2.2 and 3.2.3). */
const HOST_PATTERN = /^[\w.~!$&'()*+,;=%:[\]-]*$/

type Head = Pick<Incoming, 'httpVersion' | 'headers' | 'rawHeaders'>

/**
 * Finds an error in the head of a request that Node's parser accepts but that two programs in a
 * chain could read differently (RFC 9112, sections 2.3, 3.2 and 6.1). Null when there is none.
 */
export function findRequestHeadError({ httpVersion, headers, rawHeaders }: Head): string | null {
  const { host } = headers
  if (httpVersion !== '1.1') {
    if (httpVersion !== '1.0') return 'Use HTTP/1.1.'
    if ('transfer-encoding' in headers) return 'HTTP/1.0 has no Transfer-Encoding.'
  } else if (host === undefined) return 'An HTTP/1.1 request must name a Host.'
  // Node undoes the last coding only. It refuses a body whose last coding is not `chunked` itself.
  if (/,\s*chunked$/i.test(headers['transfer-encoding'] ?? '')) {
    return 'Transfer-Encoding must be chunked.'
  }
  if (host !== undefined && !HOST_PATTERN.test(host)) return 'The Host header is invalid.'
  // As many names as lines, so no header is repeated. This is nearly always the case.
  if (Object.keys(headers).length * 2 === rawHeaders.length) return null
  const repeated = findRepeatedHeader(rawHeaders)
  return repeated && `The ${repeated} header must appear only once.`
}

/** `rawHeaders` alternates names and values. */
function findRepeatedHeader(rawHeaders: readonly string[]): string | null {
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (!SINGLE_HEADERS.has(name)) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return null
}

/**
 * The headers of every JSON response. A browser must not render, frame or embed it, and no cache
 * may store it, because any response may contain an event or a credential.
 */
export const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/** A year. Without subdomains, which may belong to others. */
const HTTPS_HEADERS = {
  ...SECURITY_HEADERS,
  'strict-transport-security': 'max-age=31536000',
} as const

/** The headers of every response of an origin: with https, browsers use nothing else (RFC 6797). */
export function securityHeadersOf(publicOrigin: string): Record<string, string> {
  return publicOrigin.startsWith('https:') ? HTTPS_HEADERS : SECURITY_HEADERS
}

/**
 * CORS for the one route that pages call (Fetch standard, CORS protocol). A refusal has the headers
 * too, so that the page can read the reason. Never with credentials: the request carries its
 * publishable key, and no cookie is used.
 */
export function corsHeaders(origin: string): Record<string, string> {
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers':
      'Location, Idempotency-Key, Request-Id, Retry-After, RateLimit, RateLimit-Policy',
    'cross-origin-resource-policy': 'cross-origin',
    vary: 'Origin',
  }
}

const PREFLIGHT_SECONDS = 7_200

/** The headers of a preflight response (Fetch standard) for a path with these methods. */
export function preflightHeaders(
  methods: readonly string[],
  allowedHeaders: string,
): Record<string, string> {
  return {
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': allowedHeaders,
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  }
}

/**
 * The headers of a preflight response for events of a page. Every origin passes, because the key is
 * not known yet: the request that follows is checked, with a response that the page can read.
 */
export function ingestionPreflightHeaders(origin: string): Record<string, string> {
  return {
    ...preflightHeaders(['POST'], 'Authorization, Content-Type, Content-Encoding, Idempotency-Key'),
    'access-control-allow-origin': origin,
    vary: 'Origin',
  }
}

const REQUEST_ID_BYTES = 16
/** Random bytes are drawn for many IDs at once. */
const randomBytes = Buffer.alloc(256 * REQUEST_ID_BYTES)
let randomBytesUsed = randomBytes.length

/** Identifies a request in its response and in the log. */
export function generateRequestId(): string {
  if (randomBytesUsed === randomBytes.length) {
    randomFillSync(randomBytes)
    randomBytesUsed = 0
  }
  const start = randomBytesUsed
  randomBytesUsed += REQUEST_ID_BYTES
  return `req_${randomBytes.toString('hex', start, randomBytesUsed)}`
}
