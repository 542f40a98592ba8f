import type { Database } from '../db/database.ts'
import type { KeyKind } from './issue-key.ts'
import { findLiveKeys, revokeKey } from './store.ts'

export interface KeyNaming {
  trackerId: string
  /** The last four characters, by which people tell keys apart. */
  lastCharacters: string
  /** Null: whichever kind ends so. */
  kind: KeyKind | null
  revokedAt: Date
}

/**
 * Revokes the one live key of the tracker that ends so; every process refuses it within half a
 * second. Returns how many keys end so: only of exactly one it is revoked.
 */
export async function revokeNamedKey(
  database: Database,
  { trackerId, lastCharacters, kind, revokedAt }: KeyNaming,
): Promise<number> {
  const found = await findLiveKeys(database, { trackerId, lastCharacters, kind })
  const [key] = found
  if (!key || found.length > 1) return found.length
  const isRevoked = await revokeKey(database, { trackerId, digest: key.key_digest, revokedAt })
  return isRevoked ? 1 : 0
}
