import type { AuditVerification } from '@signalbox/contract/agents/audit.ts'
import type { Database } from '../../db/database.ts'
import type { AuditKeys } from './head-signature.ts'
import { type ChainOrder, type ChainWalk, walkChain } from './walk-chain.ts'

/**
 * Whether the log of a workspace is as it was written, and if not, the first entry that is wrong or
 * missing (docs/operations/audit.md).
 */
export async function verifyChain(
  database: Database,
  keys: AuditKeys,
  { now, ...order }: ChainOrder & { now: Date },
): Promise<AuditVerification> {
  return verificationOf(await walkChain(database, keys, order), now)
}

export function verificationOf({ entries, finding }: ChainWalk, at: Date): AuditVerification {
  return {
    is_intact: finding === null,
    entries,
    broken_at: finding?.sequence ?? null,
    finding: finding?.sentence ?? intactSentence(entries),
    verified_at: at.toISOString(),
  }
}

function intactSentence(entries: number): string {
  if (entries === 0) return 'Nothing has been written yet.'
  if (entries === 1) return 'The only entry is as it was written.'
  return `All ${entries} entries are as they were written.`
}
