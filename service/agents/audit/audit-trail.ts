import type { Transaction } from '../../db/database.ts'
import type { AuditEntry, ChainEntry } from './audit-entry.ts'
import { appendChained, type HeadSeal } from './audit-store.ts'
import { type AuditKeys, isSignedHead, signHead } from './head-signature.ts'

/**
 * The way to write something down for good. Every room that does what people must be able to see
 * later is given one.
 */
export interface AuditTrail {
  /**
   * Appends to the chain of the workspace, inside the caller's transaction, so that what was done
   * and its entry are one. The chain is held until that transaction ends: append last.
   */
  append(transaction: Transaction, entry: AuditEntry): Promise<ChainEntry>
}

export function auditTrail(keys: AuditKeys): AuditTrail {
  const seal: HeadSeal = {
    sign: head => signHead(keys, head),
    isSigned: (head, signature) => isSignedHead(keys, head, signature),
  }
  return { append: (transaction, entry) => appendChained(transaction, entry, seal) }
}
