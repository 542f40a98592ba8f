import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a platform credential for the store: nonce, authentication tag, then the ciphertext.
 * The destination's id is bound to it, so that a sealed credential cannot be moved to another row.
 */
export function sealCredential(key: Buffer, destinationId: string, credential: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(destinationId))
  const body = Buffer.concat([cipher.update(credential, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

/** Opens what `sealCredential` made. Throws when the key is another or a byte was changed. */
export function openCredential(key: Buffer, destinationId: string, sealed: Buffer): string {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(destinationId))
    .setAuthTag(tag)
  const body = sealed.subarray(NONCE_BYTES + TAG_BYTES)
  return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
}
