import type { Transaction } from '../../db/database.ts'
import type { AuditEntry, ChainEntry } from './audit-entry.ts'
import { chainedEntry, FIRST_LINK } from './chained-entry.ts'
import type { AuditHead } from './head-signature.ts'

/** How heads are signed, and what is one that was. */
export interface HeadSeal {
  sign(head: AuditHead): Buffer
  isSigned(head: AuditHead, signature: Buffer): boolean
}

/**
 * Adds one entry to the chain of its workspace. The row of the head is locked first, so that two
 * who append at once do it one after the other, and neither names the same entry as the one before.
 * After a head that no key of ours signed the next one is not signed either: a signature would make
 * what somebody forged look like ours. What is done is written down all the same, and verifying
 * tells of it until an operator has looked (`signChain`).
 */
export async function appendChained(
  { query }: Transaction,
  entry: AuditEntry,
  seal: HeadSeal,
): Promise<ChainEntry> {
  const { workspaceId: workspace_id } = entry
  const append = async (transaction: Transaction['query']) => {
    await transaction
      .insertInto('audit_heads')
      .values({ workspace_id, ...FIRST_LINK, signature: UNSIGNED })
      .onConflict(conflict => conflict.doNothing())
      .execute()
    const head = await transaction
      .selectFrom('audit_heads')
      .select(['sequence', 'hash', 'signature'])
      .where('workspace_id', '=', workspace_id)
      .forUpdate()
      .executeTakeFirstOrThrow()
    const { sequence, hash, body } = chainedEntry(entry, head)
    await transaction
      .insertInto('audit_entries')
      .values({ workspace_id, sequence, body, hash })
      .execute()
    const signature = isVouchedFor(seal, { workspaceId: workspace_id, ...head })
      ? seal.sign({ workspaceId: workspace_id, sequence, hash })
      : UNSIGNED
    await transaction
      .updateTable('audit_heads')
      .set({ sequence, hash, signature })
      .where('workspace_id', '=', workspace_id)
      .execute()
    return { sequence, hash }
  }
  return query.isTransaction ? append(query) : query.transaction().execute(append)
}

const UNSIGNED = Buffer.alloc(0)

/** Whether what comes next may be signed: a new chain, or one that ends where we left it. */
function isVouchedFor(
  { isSigned }: HeadSeal,
  { signature, ...head }: AuditHead & { signature: Buffer },
): boolean {
  return head.sequence === 0 || isSigned(head, signature)
}
