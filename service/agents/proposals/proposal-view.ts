import type { ActionStatus, BatchStatus, PolicyReason } from '@signalbox/contract/agents/actions.ts'
import type { ActionBatchAnswer, ProposalResult } from '@signalbox/contract/agents/proposals.ts'
import type { ProposalContext } from '../agents-context.ts'
import type { Action } from './action.ts'
import { toActionView, toProposerView, toTargetView } from './action-view.ts'
import type { Batch } from './batch-store.ts'

interface SavedProposal {
  batch: Batch
  actions: readonly Action[]
}

/** The response to a proposal, with the current state of its actions. */
export function toProposalResult(
  { publicOrigin }: Pick<ProposalContext, 'publicOrigin'>,
  { batch, actions }: SavedProposal,
): ProposalResult {
  const { id, workspaceId, adAccountId } = batch
  const origin = publicOrigin()
  return {
    proposal: {
      id,
      scope: { workspace_id: workspaceId, ad_account_id: adAccountId },
      evidence_provenance: batch.provenance,
      status: deriveBatchStatus(actions.map(action => action.status)),
      policy_decision: batch.policyDecision,
      policy_reasons: collectReasons({ batch, actions }),
      approval_required: actions.some(action => action.status === 'pending'),
      all_or_nothing: batch.isAllOrNothing,
      inbox_url: inboxUrl(origin, { workspaceId, batchId: id }),
      approval_queue_url: approvalQueueUrl(origin, workspaceId),
      rationale: batch.rationale,
      proposed_by: toProposerView(batch.proposer),
      actions: actions.map(toProposedAction),
    },
  }
}

/** The distinct reasons of the actions that determine the decision of the batch. */
function collectReasons({ batch, actions }: SavedProposal): PolicyReason[] {
  const deciding = actions.filter(action => action.policyDecision === batch.policyDecision)
  const reasons = deciding.flatMap(action => action.policyReasons)
  return [...new Map(reasons.map(reason => [`${reason.code} ${reason.message}`, reason])).values()]
}

function toProposedAction(action: Action): ProposalResult['proposal']['actions'][number] {
  return {
    id: action.id,
    type: action.type,
    target_entity: toTargetView(action),
    params: action.params,
    rationale: action.rationale,
    proposed_by: toProposerView(action.proposer),
    policy_decision: action.policyDecision,
    policy_reasons: [...action.policyReasons],
    policy_evidence: action.policyEvidence,
  }
}

/** A batch with the current state of its actions. */
export function toBatchView(
  { publicOrigin }: Pick<ProposalContext, 'publicOrigin'>,
  { batch, actions }: SavedProposal,
): ActionBatchAnswer {
  const { id, workspaceId } = batch
  return {
    batch: {
      id,
      status: deriveBatchStatus(actions.map(action => action.status)),
      ad_account_id: batch.adAccountId,
      idempotency_key: batch.idempotencyKey,
      rationale: batch.rationale,
      evidence_provenance: batch.provenance,
      proposed_by: toProposerView(batch.proposer),
      policy_decision: batch.policyDecision,
      all_or_nothing: batch.isAllOrNothing,
      undoes: batch.undoes,
      inbox_url: inboxUrl(publicOrigin(), { workspaceId, batchId: id }),
      created_at: batch.createdAt.toISOString(),
      expires_at: batch.expiresAt.toISOString(),
      actions: actions.map(toActionView),
    },
  }
}

/**
 * Derives the status of a batch from its actions (`docs/states.md`); it is not stored. Precedence:
 * open actions, then executed, failed, approved as a suggestion, rejected and blocked ones.
 */
export function deriveBatchStatus(statuses: readonly ActionStatus[]): BatchStatus {
  const some = (...matches: ActionStatus[]) => statuses.some(status => matches.includes(status))
  if (some('pending')) return 'pending_approval'
  if (some('executing', 'executed_pending_verification')) return 'executing'
  if (some('verified')) {
    return statuses.every(status => status === 'verified') ? 'completed' : 'partially_completed'
  }
  if (some('failed', 'rolled_back', 'execution_uncertain')) return 'failed'
  if (some('approved_without_execution')) return 'approved_without_execution'
  return some('rejected') ? 'rejected' : 'blocked'
}

/** The page with all pending approvals of a workspace. */
function approvalQueueUrl(origin: string, workspaceId: number): string {
  return `${origin}/workspaces/${workspaceId}/approvals`
}

/** The page where a user decides on one batch. */
function inboxUrl(
  origin: string,
  { workspaceId, batchId }: { workspaceId: number; batchId: number },
): string {
  return `${approvalQueueUrl(origin, workspaceId)}/${batchId}`
}
