import type { NewAction } from './action.ts'
import { BORN_STATUSES } from './action-moves.ts'
import type { Batch } from './batch-store.ts'
import type { EvaluatedAction } from './evaluate-actions.ts'

/** An action of a batch as it is when it was judged. What the policy allows begins at once. */
export function newAction(
  { workspaceId, adAccountId, createdAt }: Batch,
  position: number,
  { submission, evaluation }: EvaluatedAction,
): NewAction {
  const { type, params, rationale, target_entity: target } = submission
  const status = BORN_STATUSES[evaluation.decision]
  return {
    position,
    workspaceId,
    adAccountId,
    type,
    target: { type: target.type, id: target.id, name: target.name ?? null },
    params,
    rationale,
    status,
    policyDecision: evaluation.decision,
    policyReasons: evaluation.reasons,
    policyEvidence: evaluation.evidence,
    before: evaluation.before,
    proposed: evaluation.proposed,
    changeMinor: evaluation.changeMinor,
    executionStartedAt: status === 'executing' ? createdAt : null,
    createdAt,
  }
}
