import type { KeyScope } from './issue-key.ts'
import { keyEntry, type StoredKey } from './key-entry.ts'
import { revokeKey } from './store.ts'

/**
 * Revokes a live key of a tracker, and writes it down; every process refuses it within half a
 * second. False when somebody has revoked it meanwhile.
 */
export async function endKey(
  { database, audit }: KeyScope,
  key: StoredKey,
  revokedAt: Date,
): Promise<boolean> {
  const { trackerId, digest } = key
  return database.query.transaction().execute(async query => {
    const isRevoked = await revokeKey({ query }, { trackerId, digest, revokedAt })
    if (isRevoked) await audit.append({ query }, keyEntry('key.revoked', key, revokedAt))
    return isRevoked
  })
}
