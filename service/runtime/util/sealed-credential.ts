import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Meta's tokens have some 200 characters and no fixed length. */
export const PLATFORM_TOKEN_CHARACTERS_MAX = 2_000
const PLATFORM_TOKEN = /^[\x21-\x7e]{1,2000}$/

/** Whether a text can be an access token: a header carries it, so printable ASCII, no spaces. */
export function isPlatformToken(text: string): boolean {
  return PLATFORM_TOKEN.test(text)
}

/** Keys of 32 bytes. The current one seals. */
export interface CredentialKeys {
  current: Buffer
  /** During a key rotation: they open what was sealed before, and seal nothing. */
  previous: readonly Buffer[]
}

/**
 * Encrypts a platform credential for the store: nonce, authentication tag, then the ciphertext.
 * It is bound to the destination's id, so that it cannot be copied to another row.
 */
export function sealCredential(
  { current }: CredentialKeys,
  destinationId: string,
  credential: string,
): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, current, nonce).setAAD(Buffer.from(destinationId))
  const body = Buffer.concat([cipher.update(credential, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

export interface OpenedCredential {
  credential: string
  /** Which key opened it. */
  key: 'current' | 'previous'
}

/**
 * Decrypts a sealed credential. Null when no key fits, a byte was changed or it belongs to another
 * destination: the cipher does not distinguish these.
 */
export function openCredential(
  { current, previous }: CredentialKeys,
  destinationId: string,
  sealed: Buffer,
): OpenedCredential | null {
  const currentCredential = decryptWith(current, destinationId, sealed)
  if (currentCredential !== null) return { credential: currentCredential, key: 'current' }
  for (const key of previous) {
    const credential = decryptWith(key, destinationId, sealed)
    if (credential !== null) return { credential, key: 'previous' }
  }
  return null
}

function decryptWith(key: Buffer, destinationId: string, sealed: Buffer): string | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(destinationId))
    .setAuthTag(tag)
  const body = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([body, decipher.final()]).toString('utf8')
  } catch {
    return null
  }
}

const DERIVED_BYTES = 32

/**
 * Derives the key of one purpose from a master key (HKDF with SHA-256, RFC 5869). A derived key
 * reveals nothing about the master key or the keys of other purposes.
 */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), purpose, DERIVED_BYTES))
}
