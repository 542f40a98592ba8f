import type { Database } from '../db/database.ts'
import { revokeKey } from './store.ts'
import { tokenDigest } from './token-format.ts'

export interface SecretRevocation {
  trackerId: string
  secret: string
  revokedAt: Date
}

/**
 * Revokes a tracker secret. Every process refuses it within half a second (the life of the
 * authentication cache). Returns false when the tracker has no live key with this secret.
 */
export function revokeTrackerSecret(
  database: Database,
  { trackerId, secret, revokedAt }: SecretRevocation,
): Promise<boolean> {
  return revokeKey(database, { trackerId, digest: tokenDigest(secret), revokedAt })
}
