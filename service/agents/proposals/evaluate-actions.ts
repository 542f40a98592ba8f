import type { ActionSubmission } from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import type { Transaction } from '../../db/database.ts'
import { startOfAccountDay } from '../policy/account-time.ts'
import type { AdPlatform } from '../policy/ad-platform.ts'
import { type DayUsage, type Evaluation, evaluateAction } from '../policy/evaluate-action.ts'
import { INITIAL_STATUS_BY_DECISION, type NewAction } from './action.ts'
import { findUsageSince } from './action-store.ts'
import type { AdAccountSettings } from './ad-account-store.ts'
import type { Batch } from './batch-store.ts'

interface EvaluationInput {
  submissions: readonly ActionSubmission[]
  account: AdAccountSettings
  policy: ActionPolicy
  at: Date
}

export interface EvaluatedAction {
  submission: ActionSubmission
  evaluation: Evaluation
}

/**
 * Judges the actions of one proposal in their order, by the entities as they are and by what was
 * begun in the ad account today. Each action counts those before it as if they were carried out,
 * except the blocked ones, so that many small changes get no further than a large one.
 */
export async function evaluateActions(
  transaction: Transaction,
  platform: AdPlatform,
  { submissions, account, policy, at }: EvaluationInput,
): Promise<EvaluatedAction[]> {
  const { adAccountId, timeZone } = account
  const targets = submissions.map(({ target_entity: { type, id } }) => ({ type, id }))
  const entities = await platform.readEntities(transaction, adAccountId, targets)
  let usedToday = await findUsageSince(transaction, adAccountId, startOfAccountDay(at, timeZone))
  const evaluated: EvaluatedAction[] = []
  for (const submission of submissions) {
    const { type, params, target_entity: target } = submission
    const entity = entities.find(found => found.type === target.type && found.id === target.id)
    const grounds = { policy, entity: entity ?? null, usedToday, account, at }
    const evaluation = evaluateAction({ type, target, params }, grounds)
    evaluated.push({ submission, evaluation })
    if (evaluation.decision !== 'block') usedToday = addUsage(usedToday, evaluation.changeMinor)
  }
  return evaluated
}

function addUsage({ changedMinor, actionCount }: DayUsage, changeMinor: number): DayUsage {
  return { changedMinor: changedMinor + changeMinor, actionCount: actionCount + 1 }
}

/** An action of a batch as it is when it was judged. What the policy allows begins at once. */
export function buildNewAction(
  { workspaceId, adAccountId, createdAt }: Batch,
  position: number,
  { submission, evaluation }: EvaluatedAction,
): NewAction {
  const { type, params, rationale, target_entity: target } = submission
  const status = INITIAL_STATUS_BY_DECISION[evaluation.decision]
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
