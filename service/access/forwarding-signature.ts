import { createHmac, timingSafeEqual } from 'node:crypto'

/** How far the forwarder's clock may be from ours, either way. */
export const FORWARDING_WINDOW_SECONDS = 300

/** What a forwarder says beside the body, as it travelled: one character a byte. */
export interface Forwarding {
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
export function readForwarding(headers: Headers): Forwarding | null {
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
export function forwardingFault({ forwardedAt, signature }: Forwarding, now: Date): string | null {
  if (!/^\d{1,12}$/.test(forwardedAt)) {
    return 'X-Signalbox-Forwarded-At must be the time of forwarding in Unix seconds.'
  }
  if (!/^[0-9a-f]{64}$/.test(signature)) {
    return 'X-Signalbox-Forwarding-Signature must be an HMAC-SHA256 in lower-case hexadecimal.'
  }
  const secondsOff = Math.abs(now.getTime() / 1_000 - Number(forwardedAt))
  if (secondsOff <= FORWARDING_WINDOW_SECONDS) return null
  return (
    'The request was signed more than 5 minutes away from our time: sign each request when it is ' +
    "forwarded, and set the forwarder's clock."
  )
}

/**
 * Whether the signature was made with the forwarding secret of this SHA-256: HMAC-SHA256, under
 * that digest, over time, address and user agent, a line feed behind each, and the body's bytes.
 */
export function isSignedBy(
  secretDigest: Buffer,
  { clientIp, clientUserAgent, forwardedAt, signature }: Forwarding,
  body: Buffer,
): boolean {
  const expected = createHmac('sha256', secretDigest)
    .update(`${forwardedAt}\n${clientIp}\n${clientUserAgent}\n`, 'latin1')
    .update(body)
    .digest()
  const given = Buffer.from(signature, 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
