import type { PolicyReason } from '@signalbox/contract/agents/actions.ts'
import type { ActionBatch, ProposalResult } from '@signalbox/contract/agents/proposals.ts'
import type { Action } from './action.ts'
import { actionView, proposerView, targetView } from './action-view.ts'
import { approvalQueueUrl, inboxUrl } from './approval-addresses.ts'
import { batchStatus } from './batch-status.ts'
import type { Batch } from './batch-store.ts'
import type { ProposalContext } from './proposal-context.ts'

interface KeptProposal {
  batch: Batch
  actions: readonly Action[]
}

/** The answer to who proposed, with the actions as they are by now. */
export function proposalResult(
  { publicOrigin }: Pick<ProposalContext, 'publicOrigin'>,
  { batch, actions }: KeptProposal,
): ProposalResult {
  const { id, workspaceId, adAccountId } = batch
  const origin = publicOrigin()
  return {
    proposal: {
      id,
      scope: { workspace_id: workspaceId, ad_account_id: adAccountId },
      evidence_provenance: batch.provenance,
      status: batchStatus(actions.map(action => action.status)),
      policy_decision: batch.policyDecision,
      policy_reasons: reasonsOf({ batch, actions }),
      approval_required: actions.some(action => action.status === 'pending'),
      inbox_url: inboxUrl(origin, { workspaceId, batchId: id }),
      approval_queue_url: approvalQueueUrl(origin, workspaceId),
      rationale: batch.rationale,
      proposed_by: proposerView(batch.proposer),
      actions: actions.map(proposedAction),
    },
  }
}

/** Those of the actions that the decision about the whole comes from, each once. */
function reasonsOf({ batch, actions }: KeptProposal): PolicyReason[] {
  const deciding = actions.filter(action => action.policyDecision === batch.policyDecision)
  const reasons = deciding.flatMap(action => action.policyReasons)
  return [...new Map(reasons.map(reason => [`${reason.code} ${reason.message}`, reason])).values()]
}

function proposedAction(action: Action): ProposalResult['proposal']['actions'][number] {
  return {
    id: action.id,
    type: action.type,
    target_entity: targetView(action),
    params: action.params,
    rationale: action.rationale,
    proposed_by: proposerView(action.proposer),
    policy_decision: action.policyDecision,
    policy_reasons: [...action.policyReasons],
    policy_evidence: action.policyEvidence,
  }
}

/** A batch as it is now, with everything that happened to its actions. */
export function batchView(
  { publicOrigin }: Pick<ProposalContext, 'publicOrigin'>,
  { batch, actions }: KeptProposal,
): ActionBatch {
  const { id, workspaceId } = batch
  return {
    batch: {
      id,
      status: batchStatus(actions.map(action => action.status)),
      ad_account_id: batch.adAccountId,
      idempotency_key: batch.idempotencyKey,
      rationale: batch.rationale,
      evidence_provenance: batch.provenance,
      proposed_by: proposerView(batch.proposer),
      policy_decision: batch.policyDecision,
      inbox_url: inboxUrl(publicOrigin(), { workspaceId, batchId: id }),
      created_at: batch.createdAt.toISOString(),
      expires_at: batch.expiresAt.toISOString(),
      actions: actions.map(actionView),
    },
  }
}
