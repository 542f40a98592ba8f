import { createHmac, type KeyObject } from 'node:crypto'

/**
 * What is kept of the digest of an erased person: HMAC-SHA256 under a key that the store holds
 * only sealed, in hexadecimal. A digest alone could be tried against every known e-mail address.
 * The tracker goes in, so that nobody sees that two trackers erased the same person.
 */
export function keyedDigest(key: KeyObject, trackerId: string, digest: string): string {
  return createHmac('sha256', key).update(`${trackerId}\n${digest}`).digest('hex')
}
