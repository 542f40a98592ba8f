import { hash } from 'node:crypto'

/** Digest of "". Some senders hash before they look; it would match everyone who did the same. */
export const EMPTY_DIGEST = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

const DIGEST = /^[0-9a-f]{64}$/
const SUFFIX = /^(?:[\w-]{8}|AQ|Ag|Aw|BA|BQ|Bg)$/
const OTHER_HASH = /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{128})$/

/** SHA-256 of an already normalised identifier, as 64 lower-case hexadecimal digits. */
export function identifierDigest(normalized: string): string {
  return hash('sha256', normalized, 'hex')
}

/**
 * Reads a value that the caller hashed before sending: 64 hexadecimal digits of any case, or the
 * `<digest>.<suffix>` of Meta's Parameter Builder (suffix of 8 characters, or one of AQ Ag Aw BA
 * BQ Bg). The suffix is left behind: it tells Meta only which library hashed the value, and a
 * deletion by digest must find the bare form. Null when the text is no such digest.
 */
export function suppliedDigest(text: string): string | null {
  const trimmed = text.trim()
  if (trimmed.length < 64 || trimmed.length > 73) return null
  const digest = trimmed.slice(0, 64).toLowerCase()
  if (!DIGEST.test(digest)) return null
  if (trimmed.length === 64) return digest
  return trimmed[64] === '.' && SUFFIX.test(trimmed.slice(65)) ? digest : null
}

/** MD5, SHA-1 or SHA-512 by its looks. Hashing such a value again can match nothing at all. */
export function looksLikeOtherHash(prepared: string): boolean {
  return OTHER_HASH.test(prepared)
}
