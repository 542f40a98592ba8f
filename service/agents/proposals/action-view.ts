import type { AgentAction, Proposer, TargetEntity } from '@signalbox/contract/agents/actions.ts'
import type { Action, ActionProposer } from './action.ts'
import { actionExplanation } from './action-explanation.ts'

/** An action as agents and people are shown it. Who decided stays in the log and the receipt. */
export function actionView(action: Action): AgentAction {
  return {
    id: action.id,
    batch_id: action.batchId,
    type: action.type,
    target_entity: targetView(action),
    params: action.params,
    rationale: action.rationale,
    status: action.status,
    outcome: action.outcome,
    explanation: actionExplanation(action),
    proposed_by: proposerView(action.proposer),
    policy_decision: action.policyDecision,
    policy_reasons: [...action.policyReasons],
    policy_evidence: action.policyEvidence,
    before: action.before,
    proposed: action.proposed,
    after: action.after,
    decided_at: moment(action.decidedAt),
    decision_reason: action.decisionReason,
    executed_at: moment(action.executedAt),
    finished_at: moment(action.finishedAt),
    expires_at: action.expiresAt.toISOString(),
    created_at: action.createdAt.toISOString(),
    updated_at: action.updatedAt.toISOString(),
  }
}

export function proposerView({ kind, id, name }: ActionProposer): Proposer {
  return { type: kind, id, name }
}

export function targetView({ target }: Pick<Action, 'target'>): TargetEntity {
  return { type: target.type, id: target.id, name: target.name }
}

function moment(at: Date | null): string | null {
  return at?.toISOString() ?? null
}
