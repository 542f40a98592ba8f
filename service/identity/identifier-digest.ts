import { hash } from 'node:crypto'
import { decodePercentEncoding, isInternationalPhone } from './identifier-detection.ts'
import { normalizePhone } from './normalize-phone.ts'

/** Digest of "". Some senders hash before they look; it would match everyone who did the same. */
export const EMPTY_DIGEST = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

const DIGEST = /^[0-9a-f]{64}$/
const PARAMETER_BUILDER_SUFFIX = /^(?:[\w-]{8}|AQ|Ag|Aw|BA|BQ|Bg)$/
const UNSUPPORTED_HASH = /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{128})$/

/** SHA-256 of an already normalised identifier, as 64 lower-case hexadecimal digits. */
export function hashIdentifier(normalized: string): string {
  return hash('sha256', normalized, 'hex')
}

/**
 * Reads a value that the caller hashed before sending: 64 hexadecimal digits of any case, or the
 * `<digest>.<suffix>` of Meta's Parameter Builder (suffix of 8 characters, or one of AQ Ag Aw BA
 * BQ Bg). The suffix is left behind: it tells Meta only which library hashed the value, and a
 * deletion by digest must find the bare form. Null when the text is no such digest.
 */
export function parseSuppliedDigest(text: string): string | null {
  const trimmed = text.trim()
  if (trimmed.length < 64 || trimmed.length > 73) return null
  const digest = trimmed.slice(0, 64).toLowerCase()
  if (!DIGEST.test(digest)) return null
  if (trimmed.length === 64) return digest
  return trimmed[64] === '.' && PARAMETER_BUILDER_SUFFIX.test(trimmed.slice(65)) ? digest : null
}

/** MD5, SHA-1 or SHA-512 by its looks. Hashing such a value again can match nothing at all. */
export function looksLikeUnsupportedHash(prepared: string): boolean {
  return UNSUPPORTED_HASH.test(prepared)
}

/**
 * The visitor id that may be stored. Callers are asked for a pseudonymous id and some send an
 * e-mail address or a phone number instead: a value with an @, or one that is a phone number with
 * +, becomes `sha256:<64 hex>` of its normalised form, the same digest as in `em` or `ph`, so
 * that the visitor stays one visitor and can be found for erasure. Any other id is kept as it is.
 */
export function pseudonymizeVisitorId(visitorId: string): string {
  const text = decodePercentEncoding(visitorId)
  if (text.includes('@')) return toVisitorDigest(normalizeText(text).replace(/^mailto:/, ''))
  if (isInternationalPhone(text)) {
    return toVisitorDigest(normalizePhone(text.trim(), null) ?? text.replace(/[^\d]/g, ''))
  }
  return visitorId
}

function toVisitorDigest(normalized: string): string {
  return `sha256:${hashIdentifier(normalized)}`
}

/**
 * The first step of every identifier rule: NFC, then trimmed, then lower case. Without NFC a
 * decomposed "José" gives another digest than the same name typed on another keyboard.
 */
export function normalizeText(text: string): string {
  return text.normalize('NFC').trim().toLowerCase()
}
