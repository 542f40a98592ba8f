import type { Transaction } from '../../db/database.ts'
import type { ChainEntry } from '../audit/audit-entry.ts'

export interface Receipt extends ChainEntry {
  actionId: number
  workspaceId: number
  /** Canonical JSON. */
  document: string
  documentSha256: Buffer
}

export async function insertReceipt({ query }: Transaction, receipt: Receipt): Promise<void> {
  await query
    .insertInto('agent_receipts')
    .values({
      action_id: receipt.actionId,
      workspace_id: receipt.workspaceId,
      document: receipt.document,
      document_sha256: receipt.documentSha256,
      sequence: receipt.sequence,
      hash: receipt.hash,
    })
    .execute()
}

/** Null: the action has not ended, or the workspace has no such action. */
export async function findReceipt(
  { query }: Transaction,
  { workspaceId, actionId }: { workspaceId: number; actionId: number },
): Promise<Receipt | null> {
  const row = await query
    .selectFrom('agent_receipts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('action_id', '=', actionId)
    .executeTakeFirst()
  if (!row) return null
  return {
    actionId: row.action_id,
    workspaceId: row.workspace_id,
    document: row.document,
    documentSha256: row.document_sha256,
    sequence: row.sequence,
    hash: row.hash,
  }
}
