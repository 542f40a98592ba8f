import type { ActionSubmission, EntityState } from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import type { Transaction } from '../../db/database.ts'
import { startOfAccountDay } from '../policy/account-time.ts'
import { type EntityRef, findEntity } from '../policy/ad-platform.ts'
import { type DayUsage, type Evaluation, evaluateAction } from '../policy/evaluate-action.ts'
import { INITIAL_STATUS_BY_DECISION, type NewAction } from './action.ts'
import { findUsageSince } from './action-store.ts'
import type { AdAccountSettings } from './ad-account-store.ts'
import type { Batch } from './batch-store.ts'

interface EvaluationInput {
  submissions: readonly ActionSubmission[]
  /** The targets as the platform has them; read them before the transaction begins. */
  entities: readonly EntityState[]
  account: AdAccountSettings
  policy: ActionPolicy
  at: Date
}

export interface EvaluatedAction {
  submission: ActionSubmission
  evaluation: Evaluation
}

/**
 * Evaluates the actions of one proposal in order, against the current entities and the usage of the
 * local day. Each action counts the earlier ones that are not blocked as executed, so that many
 * small changes cannot exceed the limit of a large one.
 */
export async function evaluateActions(
  transaction: Transaction,
  { submissions, entities, account, policy, at }: EvaluationInput,
): Promise<EvaluatedAction[]> {
  const { adAccountId, timeZone } = account
  let usedToday = await findUsageSince(transaction, adAccountId, startOfAccountDay(at, timeZone))
  const evaluated: EvaluatedAction[] = []
  for (const submission of submissions) {
    const { type, params, target_entity: target } = submission
    const input = { policy, entity: findEntity(entities, target), usedToday, account, at }
    const evaluation = evaluateAction({ type, target, params }, input)
    evaluated.push({ submission, evaluation })
    if (evaluation.decision !== 'block') usedToday = addUsage(usedToday, evaluation.changeMinor)
  }
  return evaluated
}

export function listTargets(submissions: readonly ActionSubmission[]): EntityRef[] {
  return submissions.map(({ target_entity: { type, id } }) => ({ type, id }))
}

function addUsage({ changedMinor, actionCount }: DayUsage, changeMinor: number): DayUsage {
  return { changedMinor: changedMinor + changeMinor, actionCount: actionCount + 1 }
}

/** Builds an evaluated action. An allowed action starts executing immediately. */
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
