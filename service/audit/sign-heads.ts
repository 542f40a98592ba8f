import type { Database } from '../db/database.ts'
import { type AuditTrail, replaceSignature, streamHeads, upsertHead } from './audit-store.ts'
import { type AuditKeys, isSignedHead, signHead } from './signed-head.ts'
import { type ChainScan, scanChain } from './verify-chain.ts'

interface SignResult {
  /** What a walk along the chain found before. */
  scan: ChainScan
  outcome: 'signed' | 'was_signed' | 'refused'
}

interface SignChainInput {
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
  { workspaceId, keys, audit, at }: SignChainInput,
): Promise<SignResult> {
  const walk = await scanChain(database, keys, { workspaceId })
  if (!walk.finding) return { scan: walk, outcome: 'was_signed' }
  if (!walk.finding.isUnsigned) return { scan: walk, outcome: 'refused' }
  const head = { workspaceId, ...walk.last }
  await database.query.transaction().execute(async query => {
    await upsertHead({ query }, head, signHead(keys, head))
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
  return { scan: walk, outcome: 'signed' }
}

interface ResignResult {
  resigned: number
  /** Workspaces whose head none of the keys has signed; they are left as they are. */
  unsigned: number[]
}

/**
 * Brings the heads of all logs under the current key, so that the previous ones may be forgotten. A
 * head that none of the keys has signed is not made good by it. May be run beside the service, and
 * again.
 */
export async function resignHeads(database: Database, keys: AuditKeys): Promise<ResignResult> {
  const resigning: ResignResult = { resigned: 0, unsigned: [] }
  const currentAlone = { current: keys.current, previous: [] }
  for await (const head of streamHeads(database)) {
    const { signature, ...place } = head
    if (isSignedHead(currentAlone, place, signature)) continue
    if (!isSignedHead(keys, place, signature)) resigning.unsigned.push(head.workspaceId)
    else if (await replaceSignature(database, head, signHead(keys, place))) resigning.resigned += 1
  }
  return resigning
}
