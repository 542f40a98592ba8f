import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Database } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import { TtlCache } from '../util/ttl-cache.ts'
import { KEY_CACHE_LIMITS } from './authenticate-tracker.ts'
import { insertForwardedSignature } from './forwarded-signature-store.ts'
import { listLiveKeys, type UsedKey } from './store.ts'

interface ForwardingVerificationOptions {
  now: () => Date
  onUsed: (key: UsedKey) => void
}

/**
 * Refuses what can be refused before the body is there, and returns what is to be asked of its
 * bytes. Every refusal is a 401 that says why: a forwarder that signs wrongly must not lose its
 * visitors' addresses in silence.
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
    async (trackerId: string) =>
      (await listLiveKeys(database, trackerId, 'forwarding')).map(key => key.key_digest),
    KEY_CACHE_LIMITS,
  )

  return (trackerId, forwarding) => {
    const fault = findForwardingFault(forwarding, now())
    if (fault !== null) throw createForwardingRefusal(fault)

    return async body => {
      // All of them are tried, so that the time taken does not tell which one fits.
      const fitting = (await secrets.get(trackerId)).filter(digest =>
        hasValidSignature(digest, forwarding, body),
      )
      if (!fitting[0]) throw createForwardingRefusal(WRONG_SIGNATURE)
      onUsed({ trackerId, digest: fitting[0] })
      if (!(await recordForwarding(database, trackerId, forwarding)))
        throw createForwardingRefusal(REPLAYED)
    }
  }
}

const WRONG_SIGNATURE =
  "The forwarding signature fits no live forwarding secret of the key's tracker: check the " +
  'secret, and that the body is forwarded byte for byte.'
const REPLAYED =
  'This forwarded request has come before, and a replay is refused: sign each request anew.'

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

/** How far the forwarder's clock may be from ours, either way. */
const FORWARDING_TOLERANCE_SECONDS = 300

/**
 * This request is at most one window ahead of our clock, and what we would still take is at most
 * one behind; the third is for processes whose clocks differ.
 */
const SIGNATURE_RETENTION_MILLISECONDS = 3 * FORWARDING_TOLERANCE_SECONDS * 1_000

function createForwardingRefusal(sentence: string): Refusal {
  return Refusal.unauthenticated(sentence)
}

/** What a forwarder says beside the body, as it travelled: one character a byte. */
interface ForwardingHeaders {
  clientIp: string
  clientUserAgent: string
  /** Unix seconds. */
  forwardedAt: string
  signature: string
}

type Headers = Record<string, string | string[] | undefined>

/**
 * What the `X-Signalbox-...` headers of a request say; null when there are none of them. Who sends
 * one of them means to be a forwarder, and is never taken for a page by mistake.
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
  return { clientIp, clientUserAgent, forwardedAt, signature }
}

/** What can be said against it before the body is there, in one sentence; null: nothing. */
export function findForwardingFault(
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
 * Whether the signature was made with the forwarding secret of this SHA-256: HMAC-SHA256, under
 * that digest, over time, address and user agent, a line feed behind each, and the body's bytes.
 */
export function hasValidSignature(
  secretDigest: Buffer,
  { clientIp, clientUserAgent, forwardedAt, signature }: ForwardingHeaders,
  body: Buffer,
): boolean {
  const expected = createHmac('sha256', secretDigest)
    .update(`${forwardedAt}\n${clientIp}\n${clientUserAgent}\n`, 'latin1')
    .update(body)
    .digest()
  const given = Buffer.from(signature, 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
