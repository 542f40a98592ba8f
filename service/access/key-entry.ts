import type { AuditEntry } from '../agents/audit/audit-entry.ts'
import type { TrackerIdentity } from './store.ts'

/** One key of a tracker, as the store has it. */
export interface StoredKey extends TrackerIdentity {
  kind: string
  digest: Buffer
  /** By which people tell keys apart. */
  lastCharacters: string
}

/**
 * What is written down of a key: its digest, which names it among all. Only who runs the program
 * issues and revokes keys.
 */
export function keyEntry(
  action: 'key.issued' | 'key.revoked',
  { workspaceId, trackerId, kind, digest, lastCharacters }: StoredKey,
  at: Date,
): AuditEntry {
  return {
    workspaceId,
    at,
    actor: { type: 'operator', id: null },
    action,
    subject: { type: 'key', id: digest.toString('hex') },
    details: { tracker_id: trackerId, kind, last_characters: lastCharacters },
  }
}
