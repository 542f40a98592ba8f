import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** The kinds of credential and their prefixes. */
export const TOKEN_PREFIXES = {
  tracker_secret: 'sbx_sk_',
  publishable: 'sbx_pk_',
  sandbox: 'sbx_test_',
  execution: 'sbx_wet_',
  forwarding: 'sbx_fwd_',
} as const
export type TokenKind = keyof typeof TOKEN_PREFIXES

const RANDOM_BYTES = 32
const BODY = /^[0-9a-f]{72}$/

/** Returns a new token: the prefix of its kind, 256 random bits and a checksum, in hexadecimal. */
export function generateToken(kind: TokenKind): string {
  const random = randomBytes(RANDOM_BYTES).toString('hex')
  return `${TOKEN_PREFIXES[kind]}${random}${checksum(TOKEN_PREFIXES[kind] + random)}`
}

/**
 * Returns the kind of a well-formed token, or null. The checksum detects a mistyped token without a
 * query; it is no secret and proves nothing.
 */
export function parseTokenKind(token: string): TokenKind | null {
  for (const [kind, prefix] of Object.entries(TOKEN_PREFIXES)) {
    if (!token.startsWith(prefix)) continue
    const body = token.slice(prefix.length)
    const isWellFormed = BODY.test(body) && checksum(prefix + body.slice(0, 64)) === body.slice(64)
    return isWellFormed ? (kind as TokenKind) : null
  }
  return null
}

/** Returns the digest that the store keeps. 256 random bits need no salt and no slow hash. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** The same digest in base64: 0.3 µs instead of 1, without off-heap memory. */
export function hashTokenToBase64(token: string): string {
  return hash('sha256', token, 'base64')
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0')
}
