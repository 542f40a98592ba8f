import { isUtf8 } from 'node:buffer'
import type { RawRequestDefaultExpression as Incoming } from 'fastify'

/** RFC 6750: `Authorization: Bearer <token>`. The scheme's case does not matter. */
export function readBearerToken(authorization: string | undefined): string | null {
  const match = authorization?.match(/^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i)
  return match?.[1] ?? null
}

/**
 * The text of a header's value. Node gives one character a byte; bytes that are UTF-8 are read as
 * such, all others stay as they came.
 */
export function readHeaderText(value: string): string {
  if (/^[\0-\x7f]*$/.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : value
}

/** One value each, which decides about the request: an edge could have gone by the other one. */
const SINGLE_HEADERS = new Set([
  'host',
  'authorization',
  'content-type',
  'content-encoding',
  'idempotency-key',
  'origin',
])

/** RFC 3986, 3.2.2 and 3.2.3: a name or an address, and a port. */
const HOST_PATTERN = /^[\w.~!$&'()*+,;=%:[\]-]*$/

type Head = Pick<Incoming, 'httpVersion' | 'headers' | 'rawHeaders'>

/**
 * What is wrong with the head of a request, where Node's parser lets it pass and two programs in a
 * row could read it differently (RFC 9112, sections 2.3, 3.2 and 6.1). Null when nothing is.
 */
export function findRequestHeadFault({ httpVersion, headers, rawHeaders }: Head): string | null {
  const { host } = headers
  if (httpVersion !== '1.1') {
    if (httpVersion !== '1.0') return 'Speak HTTP/1.1 here.'
    if ('transfer-encoding' in headers) return 'HTTP/1.0 has no Transfer-Encoding.'
  } else if (host === undefined) return 'An HTTP/1.1 request must name a Host.'
  if (host !== undefined && !HOST_PATTERN.test(host)) return 'The Host header names no host.'
  // As many names as lines: nothing stands twice, which is nearly always so.
  if (Object.keys(headers).length * 2 === rawHeaders.length) return null
  const repeated = findRepeatedHeader(rawHeaders)
  return repeated && `The ${repeated} header may stand in a request once only.`
}

/** Names and values take turns. */
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
