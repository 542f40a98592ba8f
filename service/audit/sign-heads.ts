import type { Database } from '../runtime/db/database.ts'
import { type AuditTrail, replaceSignature, streamHeads, upsertHead } from './audit-store.ts'
import { commitAudited } from './commit-audited.ts'
import { type AuditKeys, isSignedHead, signHead } from './signed-head.ts'
import { type ChainScan, scanChain } from './verify-chain.ts'

interface SignResult {
  /** The chain as verified before signing. */
  scan: ChainScan
  outcome: 'signed' | 'already_signed' | 'refused'
}

interface SignChainInput {
  workspaceId: number
  keys: AuditKeys
  audit: AuditTrail
  at: Date
}

/**
 * Signs the head of a log whose only problem is a missing signature, such as after a lost key or an
 * append with a different key. The operator takes responsibility for the content; the next entry
 * records that. Refuses a log with any other problem.
 */
export async function signChain(
  database: Database,
  { workspaceId, keys, audit, at }: SignChainInput,
): Promise<SignResult> {
  const scan = await scanChain(database, keys, { workspaceId })
  if (!scan.finding) return { scan, outcome: 'already_signed' }
  if (!scan.finding.isUnsigned) return { scan, outcome: 'refused' }
  const head = { workspaceId, ...scan.last }
  await commitAudited({ database, audit }, async (transaction, record) => {
    await upsertHead(transaction, head, signHead(keys, head))
    record({
      workspaceId,
      at,
      action: 'audit.signed',
      actor: { type: 'operator', id: null },
      subject: { type: 'workspace', id: String(workspaceId) },
      details: { sequence: head.sequence },
    })
  })
  return { scan, outcome: 'signed' }
}

interface ResignResult {
  resigned: number
  /** Workspaces whose head none of the keys signed; they are left unchanged. */
  unsigned: number[]
}

/**
 * Signs the heads of all logs with the current key, so that previous keys can be removed. Never
 * signs a head that none of the keys signed. Idempotent, and safe while the service runs.
 */
export async function resignHeads(database: Database, keys: AuditKeys): Promise<ResignResult> {
  const result: ResignResult = { resigned: 0, unsigned: [] }
  const currentAlone = { current: keys.current, previous: [] }
  for await (const head of streamHeads(database)) {
    const { signature, ...place } = head
    if (isSignedHead(currentAlone, place, signature)) continue
    if (!isSignedHead(keys, place, signature)) result.unsigned.push(head.workspaceId)
    else if (await replaceSignature(database, head, signHead(keys, place))) result.resigned += 1
  }
  return result
}
