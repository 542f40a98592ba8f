import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { TtlCache } from '../../runtime/util/load-cache.ts'
import { KEY_CACHE_LIMITS } from './authenticate-tracker.ts'
import { insertForwardedSignature } from './forwarded-signature-store.ts'
import { listLiveDigests, type UsedKey } from './key-store.ts'

interface ForwardingVerificationOptions {
  now: () => Date
  onUsed: (key: UsedKey) => void
}

/**
 * Checks the headers and returns the check of the body's bytes. Every refusal is a 401 that names
 * the reason, so that a forwarder that signs incorrectly does not silently lose its visitors'
 * addresses.
 */
type VerifyForwarding = (
  trackerId: string,
  forwarding: ForwardingHeaders,
) => (body: Buffer) => Promise<void>

export function createForwardingVerifier(
  database: Database,
  { now, onUsed }: ForwardingVerificationOptions,
): VerifyForwarding {
  const secrets = new TtlCache(
    (trackerId: string) => listLiveDigests(database, trackerId, 'forwarding'),
    KEY_CACHE_LIMITS,
  )

  return (trackerId, forwarding) => {
    const error = findForwardingError(forwarding, now())
    if (error !== null) throw Refusal.unauthenticated(error, 'forwarding_signature')

    return async body => {
      // All secrets are tried, so that the response time does not reveal which one matches.
      const matching = (await secrets.get(trackerId)).filter(digest =>
        hasValidSignature(digest, forwarding, body),
      )
      if (!matching[0]) throw Refusal.unauthenticated(WRONG_SIGNATURE, 'forwarding_signature')
      onUsed({ trackerId, digest: matching[0] })
      const isNew = await recordForwarding(database, trackerId, forwarding)
      if (!isNew) throw Refusal.unauthenticated(REPLAYED, 'forwarding_signature')
    }
  }
}

const WRONG_SIGNATURE =
  "The forwarding signature matches no live forwarding secret of the key's tracker: check the " +
  'secret, and that the body is forwarded byte for byte.'
const REPLAYED = 'This forwarded request has been received before: sign each request again.'

function recordForwarding(
  database: Database,
  trackerId: string,
  { forwardedAt, signature }: ForwardingHeaders,
): Promise<boolean> {
  const at = Number(forwardedAt) * 1_000
  return insertForwardedSignature(database, {
    trackerId,
    signature: Buffer.from(signature, 'hex'),
    forwardedAt: new Date(at),
    expireBefore: new Date(at - SIGNATURE_RETENTION_MILLISECONDS),
  })
}

/** How far the forwarder's clock may differ from ours, in either direction. */
const FORWARDING_TOLERANCE_SECONDS = 300

/**
 * This request is at most one tolerance ahead of our clock, and an acceptable one is at most one
 * behind; the third covers processes whose clocks differ.
 */
const SIGNATURE_RETENTION_MILLISECONDS = 3 * FORWARDING_TOLERANCE_SECONDS * 1_000

/** The headers of a forwarder as received: one character per byte. */
interface ForwardingHeaders {
  clientIp: string
  clientUserAgent: string
  /** Unix seconds. */
  forwardedAt: string
  signature: string
  /** Whether the request has `Sec-GPC: 1`, which may be signed. */
  hasGpc?: boolean
}

type Headers = Record<string, string | string[] | undefined>

/**
 * Reads the `X-Signalbox-...` headers of a request; null when it has none. A request with one of
 * them is treated as forwarded, never as coming from a page.
 */
export function readForwardingHeaders(headers: Headers): ForwardingHeaders | null {
  const names = [
    'x-signalbox-client-ip',
    'x-signalbox-client-user-agent',
    'x-signalbox-forwarded-at',
    'x-signalbox-forwarding-signature',
  ]
  if (names.every(name => headers[name] === undefined)) return null
  const [clientIp = '', clientUserAgent = '', forwardedAt = '', signature = ''] = names.map(name =>
    String(headers[name] ?? ''),
  )
  const forwarding = { clientIp, clientUserAgent, forwardedAt, signature }
  return isGpcHeader(headers['sec-gpc']) ? { ...forwarding, hasGpc: true } : forwarding
}

/** The W3C draft defines only "1". A repeated header counts if one of its values is on. */
export function isGpcHeader(value: string | string[] | undefined): boolean {
  return (
    value !== undefined &&
    String(value)
      .split(',')
      .some(each => each.trim() === '1')
  )
}

/** Checks the time and the form of the signature. Returns one sentence, or null. */
export function findForwardingError(
  { forwardedAt, signature }: ForwardingHeaders,
  now: Date,
): string | null {
  if (!/^\d{1,12}$/.test(forwardedAt)) {
    return 'X-Signalbox-Forwarded-At must be the time of forwarding in Unix seconds.'
  }
  if (!/^[0-9a-f]{64}$/.test(signature)) {
    return 'X-Signalbox-Forwarding-Signature must be an HMAC-SHA256 in lower-case hexadecimal.'
  }
  const secondsOff = Math.abs(now.getTime() / 1_000 - Number(forwardedAt))
  if (secondsOff <= FORWARDING_TOLERANCE_SECONDS) return null
  return (
    'The request was signed more than 5 minutes away from our time: sign each request when it is ' +
    "forwarded, and set the forwarder's clock."
  )
}

/**
 * Whether the signature was made with the forwarding secret that has this SHA-256: HMAC-SHA256 with
 * the digest as key over time, address and user agent, each followed by a line feed, the line
 * `Sec-GPC: 1` if the browser sent that header, and the body.
 *
 * Forwarders of earlier versions pass no `Sec-GPC` on and sign no line for it. If the header is
 * there nevertheless, both forms are valid: it can only restrict. Removing a signed one is refused.
 */
export function hasValidSignature(
  secretDigest: Buffer,
  { clientIp, clientUserAgent, forwardedAt, signature, hasGpc = false }: ForwardingHeaders,
  body: Buffer,
): boolean {
  const head = `${forwardedAt}\n${clientIp}\n${clientUserAgent}\n`
  const given = Buffer.from(signature, 'hex')
  const heads = hasGpc ? [`${head}Sec-GPC: 1\n`, head] : [head]
  // Both are computed, so that the response time does not reveal which one matches.
  const matches = heads.map(each => isSignatureOf(given, { secretDigest, head: each, body }))
  return matches.includes(true)
}

function isSignatureOf(
  given: Buffer,
  { secretDigest, head, body }: { secretDigest: Buffer; head: string; body: Buffer },
): boolean {
  const expected = createHmac('sha256', secretDigest).update(head, 'latin1').update(body).digest()
  return given.length === expected.length && timingSafeEqual(given, expected)
}
