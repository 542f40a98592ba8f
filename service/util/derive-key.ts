import { hkdfSync } from 'node:crypto'

const DERIVED_BYTES = 32

/**
 * A key of its own for one purpose, from a key that is used for others, too (HKDF with SHA-256, RFC
 * 5869): whoever learns it learns nothing of the other one. Another purpose gives another key.
 */
export function deriveKey(master: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), purpose, DERIVED_BYTES))
}
