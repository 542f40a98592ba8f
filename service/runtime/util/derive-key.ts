import { hkdfSync } from 'node:crypto'

const DERIVED_BYTES = 32

/**
 * Derives the key of one purpose from a master key (HKDF with SHA-256, RFC 5869). A derived key
 * reveals nothing about the master key or the keys of other purposes.
 */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), purpose, DERIVED_BYTES))
}
