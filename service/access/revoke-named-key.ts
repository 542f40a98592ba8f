import { endKey } from './end-key.ts'
import type { KeyKind, KeyScope } from './issue-key.ts'
import { findLiveKeys, type TrackerIdentity } from './store.ts'

export interface KeyNaming extends TrackerIdentity {
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
  scope: KeyScope,
  { trackerId, workspaceId, lastCharacters, kind, revokedAt }: KeyNaming,
): Promise<number> {
  const found = await findLiveKeys(scope.database, { trackerId, lastCharacters, kind })
  const [key] = found
  if (!key || found.length > 1) return found.length
  const { key_digest: digest, kind: itsKind } = key
  const named = { trackerId, workspaceId, kind: itsKind, digest, lastCharacters }
  const isRevoked = await endKey(scope, named, revokedAt)
  return isRevoked ? 1 : 0
}
