import { hash } from 'node:crypto'
import type { ActionStatus } from '@signalbox/contract/agents/actions.ts'
import type { DecisionReceipt } from '@signalbox/contract/agents/proposals.ts'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import type { ChainLink } from '../../audit/audit-entry.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import type { Action } from './action.ts'

interface Receipt extends ChainLink {
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

/** Null if the action is not completed or not in the workspace. */
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

interface ReceiptDocument {
  /** Canonical JSON (RFC 8785). */
  document: string
  documentSha256: Buffer
}

/** Builds the receipt of a completed action; its content is immutable. */
export function buildReceiptDocument(action: Action): ReceiptDocument {
  const document = canonicalJson({
    action_id: action.id,
    batch_id: action.batchId,
    ...(action.isAllOrNothing && { all_or_nothing: true }),
    workspace_id: action.workspaceId,
    ad_account_id: action.adAccountId,
    type: action.type,
    target_entity: action.target,
    params: action.params,
    rationale: action.rationale,
    proposed_by: { type: action.proposer.kind, id: action.proposer.id },
    proposed_at: action.createdAt.toISOString(),
    policy_decision: action.policyDecision,
    policy_reasons: action.policyReasons,
    policy_evidence: action.policyEvidence,
    decision: action.decidedAt && {
      decided_by: action.decidedBy,
      decided_at: action.decidedAt.toISOString(),
      reason: action.decisionReason,
      context: action.decisionContext,
    },
    status: action.status,
    outcome: action.outcome,
    before: action.before,
    proposed: action.proposed,
    after: action.after,
    executed_at: action.executedAt?.toISOString() ?? null,
    finished_at: action.finishedAt?.toISOString() ?? null,
  })
  return { document, documentSha256: hash('sha256', document, 'buffer') }
}

/** The public view of a receipt: the document, its digest and its entry in the audit log. */
export function toReceiptView(
  { status }: Pick<Action, 'status'>,
  receipt: Receipt,
): DecisionReceipt {
  return {
    document: JSON.parse(receipt.document),
    document_sha256: receipt.documentSha256.toString('hex'),
    chain_entry: { sequence: receipt.sequence, hash: receipt.hash.toString('hex') },
    disposition: {
      receipt_status: 'final',
      outcome_status: status,
      recovery_disposition: toRecoveryDisposition(status),
    },
  }
}

/** `none`: the action was not executed. `not_needed`: it was executed as proposed. */
function toRecoveryDisposition(
  status: ActionStatus,
): DecisionReceipt['disposition']['recovery_disposition'] {
  switch (status) {
    case 'verified':
      return 'not_needed'
    case 'rolled_back':
      return 'rolled_back'
    case 'execution_uncertain':
      return 'needs_person'
    case 'pending':
    case 'executing':
    case 'executed_pending_verification':
    case 'rejected':
    case 'approved_without_execution':
    case 'failed':
    case 'blocked':
      return 'none'
  }
}
