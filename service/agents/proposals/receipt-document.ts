import { hash } from 'node:crypto'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import type { Action } from './action.ts'

export interface ReceiptDocument {
  /** Canonical JSON (RFC 8785). */
  document: string
  documentSha256: Buffer
}

/** What can be shown of an action that has ended; nothing in it changes later. */
export function receiptDocument(action: Action): ReceiptDocument {
  const document = canonicalJson({
    action_id: action.id,
    batch_id: action.batchId,
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
