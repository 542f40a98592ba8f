import type {
  ActionOutcome,
  ActionStatus,
  AgentAction,
  Proposer,
  TargetEntity,
} from '@signalbox/contract/agents/actions.ts'
import type { Action, ActionProposer } from './action.ts'

/** An action as agents and people are shown it. Who decided stays in the log and the receipt. */
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

export function toProposerView({ kind, id, name }: ActionProposer): Proposer {
  return { type: kind, id, name }
}

export function toTargetView({ target }: Pick<Action, 'target'>): TargetEntity {
  return { type: target.type, id: target.id, name: target.name }
}

function formatOptionalTime(at: Date | null): string | null {
  return at?.toISOString() ?? null
}

/** What happened to an action and what comes next, in words of ours alone. */
export function explainAction({
  status,
  outcome,
  expiresAt,
}: Pick<Action, 'status' | 'outcome' | 'expiresAt'>): string {
  if (status === 'pending') {
    const until = expiresAt.toISOString()
    return `It waits for a person, who may decide until ${until}; read it again later.`
  }
  if (outcome !== null) return `${STATUS_TEXTS[status]} ${OUTCOME_TEXTS[outcome]}`
  return `${STATUS_TEXTS[status]} ${NEXT_STEPS[status]}`
}

type DecidedStatus = Exclude<ActionStatus, 'pending'>

const STATUS_TEXTS: Record<DecidedStatus, string> = {
  rejected: 'It was rejected and nothing was changed.',
  approved_without_execution: 'A person approved it, and nothing was changed here.',
  executing: 'It is being carried out.',
  executed_pending_verification: 'It was carried out and is being read back.',
  verified: 'It was carried out, and reading it back showed the proposed state.',
  failed: 'It was not carried out: nothing was changed.',
  execution_uncertain: 'It was carried out, and reading it back showed something else.',
  rolled_back: 'It did not take effect as proposed, and the state from before was put back.',
  blocked: 'The policy of the workspace blocked it and nothing was changed.',
}

const READ_STATE_AGAIN = 'Read the account state again, and propose anew if it is still wanted.'

/** What comes next where the status says why. */
const NEXT_STEPS: Record<DecidedStatus, string> = {
  rejected: 'decision_reason has why; do not propose it again unless a person asks for it.',
  approved_without_execution: 'The workspace takes suggestions only: a person carries it out.',
  executing: 'Read it again in a moment.',
  executed_pending_verification: 'Read it again in a moment.',
  verified: 'Nothing is left to do.',
  failed: READ_STATE_AGAIN,
  execution_uncertain: 'A person has to look at the ad account; do not try again by yourself.',
  rolled_back: 'A person should look at why before it is proposed again.',
  blocked: 'policy_reasons has why; propose something that the policy allows.',
}

const OUTCOME_TEXTS: Record<ActionOutcome, string> = {
  expired: `Nobody decided in time. ${READ_STATE_AGAIN}`,
  stale: `The entity was changed after this was proposed. ${READ_STATE_AGAIN}`,
  proposer_revoked:
    'The credential that proposed it was revoked, has expired or belongs to another ad account.',
  policy_changed: 'The policy was changed after this was proposed: read it before proposing anew.',
  account_changed: 'The ad account was disabled after this was proposed.',
  not_applied:
    'The platform did not apply the change. A person should look before it is tried again.',
  changed_elsewhere:
    'Somebody else changed the entity meanwhile. A person has to look at the ad account; do not ' +
    'try again by yourself.',
}
