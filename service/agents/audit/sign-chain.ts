import type { Database } from '../../db/database.ts'
import type { AuditTrail } from './audit-trail.ts'
import { type AuditKeys, signHead } from './head-signature.ts'
import { putHead } from './head-store.ts'
import { type ChainWalk, walkChain } from './walk-chain.ts'

export interface Signing {
  /** What a walk along the chain found before. */
  walk: ChainWalk
  outcome: 'signed' | 'was_signed' | 'refused'
}

export interface SigningOrder {
  workspaceId: number
  keys: AuditKeys
  audit: AuditTrail
  at: Date
}

/**
 * Signs the end of a log that nothing is wrong with but that no key of ours signed: after a key was
 * lost, or somebody wrote with another one. The operator answers for what stands in it; that they
 * did is its next entry. A log with any other fault is refused.
 */
export async function signChain(
  database: Database,
  { workspaceId, keys, audit, at }: SigningOrder,
): Promise<Signing> {
  const walk = await walkChain(database, keys, { workspaceId })
  if (!walk.finding) return { walk, outcome: 'was_signed' }
  if (!walk.finding.isUnsigned) return { walk, outcome: 'refused' }
  const head = { workspaceId, ...walk.last }
  await database.query.transaction().execute(async query => {
    await putHead({ query }, head, signHead(keys, head))
    await audit.append(
      { query },
      {
        ...{ workspaceId, at, action: 'audit.signed' },
        actor: { type: 'operator', id: null },
        subject: { type: 'workspace', id: String(workspaceId) },
        details: { sequence: head.sequence },
      },
    )
  })
  return { walk, outcome: 'signed' }
}
