import type { ActionSummary } from '@signalbox/contract/agents/action-list.ts'
import type {
  ActionOutcome,
  ActionStatus,
  AgentAction,
  BatchStatus,
  PolicyReason,
  Proposer,
  TargetEntity,
} from '@signalbox/contract/agents/actions.ts'
import type { ActionBatchAnswer, ProposalResult } from '@signalbox/contract/agents/proposals.ts'
import type { ProposalContext } from '../agents-context.ts'
import type { Action, ActionProposer } from './action.ts'
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
  return `${origin}/w/${workspaceId}/approvals`
}

/** The page where a user decides on one batch. */
function inboxUrl(
  origin: string,
  { workspaceId, batchId }: { workspaceId: number; batchId: number },
): string {
  return `${approvalQueueUrl(origin, workspaceId)}/${batchId}`
}

/** The public view of an action. Only the audit log and the receipt name the user who decided. */
export function toActionView(action: Action): AgentAction {
  return {
    id: action.id,
    batch_id: action.batchId,
    type: action.type,
    target_entity: toTargetView(action),
    params: action.params,
    rationale: action.rationale,
    status: action.status,
    outcome: action.outcome,
    explanation: explainAction(action),
    proposed_by: toProposerView(action.proposer),
    policy_decision: action.policyDecision,
    policy_reasons: [...action.policyReasons],
    policy_evidence: action.policyEvidence,
    before: action.before,
    proposed: action.proposed,
    after: action.after,
    decided_at: formatOptionalTime(action.decidedAt),
    decision_reason: action.decisionReason,
    executed_at: formatOptionalTime(action.executedAt),
    finished_at: formatOptionalTime(action.finishedAt),
    expires_at: action.expiresAt.toISOString(),
    created_at: action.createdAt.toISOString(),
    updated_at: action.updatedAt.toISOString(),
  }
}

const NAME_CHARACTERS_SHOWN = 40

/** One line of a list, for a model that looks for an action. */
export function toActionSummary(action: Action): ActionSummary {
  const { target, params, outcome } = action
  const budget = params.new_daily_budget_minor
  return {
    id: action.id,
    batch_id: action.batchId,
    type: action.type,
    entity: `${target.type} ${target.id}`,
    name: target.name?.slice(0, NAME_CHARACTERS_SHOWN).toWellFormed() ?? null,
    ...(budget !== undefined && { new_daily_budget_minor: budget }),
    status: action.status,
    ...(outcome !== null && { outcome }),
    // To the minute: a model pays for every digit.
    created_at: `${action.createdAt.toISOString().slice(0, 'YYYY-MM-DDThh:mm'.length)}Z`,
  }
}

export function toProposerView({ kind, id, name }: ActionProposer): Proposer {
  return kind === 'person' ? { type: kind, id } : { type: kind, id, name }
}

function toTargetView({ target }: Pick<Action, 'target'>): TargetEntity {
  return { type: target.type, id: target.id, name: target.name }
}

function formatOptionalTime(at: Date | null): string | null {
  return at?.toISOString() ?? null
}

/** Explains to an agent what happened to an action and what to do next; contains no stored text. */
export function explainAction({
  status,
  outcome,
  expiresAt,
}: Pick<Action, 'status' | 'outcome' | 'expiresAt'>): string {
  if (status === 'pending') {
    const until = expiresAt.toISOString()
    return `A person can approve or reject it until ${until}; check again later.`
  }
  // Not the text of a rollback, which says that the verification failed.
  if (status === 'rolled_back' && outcome === 'batch_failed') return OUTCOME_TEXTS[outcome]
  if (outcome !== null) return `${STATUS_TEXTS[status]} ${OUTCOME_TEXTS[outcome]}`
  return `${STATUS_TEXTS[status]} ${NEXT_STEPS[status]}`
}

type DecidedStatus = Exclude<ActionStatus, 'pending'>

const STATUS_TEXTS: Record<DecidedStatus, string> = {
  rejected: 'It was rejected and nothing was changed.',
  approved_without_execution: 'A person approved it; Signalbox does not execute it.',
  executing: 'It is being executed.',
  executed_pending_verification: 'It was executed and is being verified.',
  verified: 'It was executed, and the entity has the proposed state.',
  failed: 'It was not executed: nothing was changed.',
  execution_uncertain: 'It was executed, but the entity has another state than proposed.',
  rolled_back: 'It did not take effect as proposed, and the previous state was restored.',
  blocked: 'The policy of the workspace blocked it and nothing was changed.',
}

const READ_STATE_AGAIN = 'Read the account state again, and propose it again if it is still wanted.'

/** For statuses that need no outcome to explain them. */
const NEXT_STEPS: Record<DecidedStatus, string> = {
  rejected: 'See decision_reason; do not propose it again unless a person asks for it.',
  approved_without_execution: 'This workspace only accepts suggestions: a person makes the change.',
  executing: 'Check again in a moment.',
  executed_pending_verification: 'Check again in a moment.',
  verified: 'No further action is needed.',
  failed: READ_STATE_AGAIN,
  execution_uncertain: 'A person must check the ad account; do not retry by yourself.',
  rolled_back: 'A person should find out why before it is proposed again.',
  blocked: 'See policy_reasons; propose something that the policy allows.',
}

const OUTCOME_TEXTS: Record<ActionOutcome, string> = {
  expired: `The approval period ended without a decision. ${READ_STATE_AGAIN}`,
  canceled: 'The credential that proposed it canceled it.',
  stale: `The entity changed after the proposal. ${READ_STATE_AGAIN}`,
  proposer_revoked:
    'The credential that proposed it was revoked, expired, or belongs to another ad account.',
  policy_changed: 'The policy changed after the proposal: read it before you propose again.',
  account_changed: 'The ad account was disabled after the proposal.',
  not_applied:
    'The platform did not apply the change. A person should find out why before a retry.',
  changed_elsewhere:
    'The entity was changed elsewhere in the meantime. A person must check the ad account; do ' +
    'not retry by yourself.',
  not_executed:
    'Another action of its all-or-nothing proposal could not be executed; read that one.',
  batch_failed:
    'It was executed, and the previous state was restored, because another action of its ' +
    'all-or-nothing proposal could not be executed; read that one.',
}
