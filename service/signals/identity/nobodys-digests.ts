import { hash } from 'node:crypto'
import {
  EMPTY_DIGEST,
  GUEST_IDS,
  PLACEHOLDER_SPELLINGS,
  UNFILLED_SPELLINGS,
  ZERO_DIGEST,
} from './identifier-formats.ts'

const listDigests = (texts: readonly string[]) => texts.map(text => hash('sha256', text, 'hex'))

const PLACEHOLDER_DIGESTS = new Set([...listDigests(PLACEHOLDER_SPELLINGS), ZERO_DIGEST])
const GUEST_DIGESTS = new Set(listDigests(GUEST_IDS))
const UNFILLED_DIGESTS = new Set([...listDigests(UNFILLED_SPELLINGS), ZERO_DIGEST])

/** Whether this is the digest of a placeholder, which a caller hashed before sending. */
export function isPlaceholderDigest(digest: string): boolean {
  return PLACEHOLDER_DIGESTS.has(digest)
}

/** The same for the ID of an order or a product, which may be 0. */
export function isUnfilledIdDigest(digest: string): boolean {
  return digest === EMPTY_DIGEST || (isPlaceholderDigest(digest) && !GUEST_DIGESTS.has(digest))
}

/** The same for a name or a place: Null is a family name, and identifies no one alone. */
export function isUnfilledDigest(digest: string): boolean {
  return UNFILLED_DIGESTS.has(digest)
}
