import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import type { RecordedRequest } from './recording-endpoint.ts'

/**
 * The forwarding signature as the service computes it: HMAC-SHA256, with the SHA-256 of the
 * secret as its key, over time, address, user agent and the exact body.
 */
export function forwardingSignature(secret: string, text: string, body: Uint8Array): string {
  const key = createHash('sha256').update(secret).digest()
  return createHmac('sha256', key).update(text).update(body).digest('hex')
}

/** Fails unless the request carries a signature that fits everything it says. */
export function assertSigned({ headers, bytes }: RecordedRequest, secret: string): void {
  const at = headers['x-signalbox-forwarded-at']
  const ip = headers['x-signalbox-client-ip'] ?? ''
  const agent = headers['x-signalbox-client-user-agent'] ?? ''
  assert.match(String(at), /^\d{10}$/)
  const expected = forwardingSignature(secret, `${at}\n${ip}\n${agent}\n`, bytes)
  assert.equal(headers['x-signalbox-forwarding-signature'], expected)
}
