import type { Database } from '../../db/database.ts'
import { type AuditKeys, isSignedHead, signHead } from './head-signature.ts'
import { everyHead, replaceSignature } from './head-store.ts'

export interface Resigning {
  resigned: number
  /** Workspaces whose head none of the keys has signed; they are left as they are. */
  unsigned: number[]
}

/**
 * Brings the heads of all logs under the current key, so that the previous ones may be forgotten. A
 * head that none of the keys has signed is not made good by it. May be run beside the service, and
 * again.
 */
export async function resignHeads(database: Database, keys: AuditKeys): Promise<Resigning> {
  const resigning: Resigning = { resigned: 0, unsigned: [] }
  const currentAlone = { current: keys.current, previous: [] }
  for await (const head of everyHead(database)) {
    const { signature, ...place } = head
    if (isSignedHead(currentAlone, place, signature)) continue
    if (!isSignedHead(keys, place, signature)) resigning.unsigned.push(head.workspaceId)
    else if (await replaceSignature(database, head, signHead(keys, place))) resigning.resigned += 1
  }
  return resigning
}
