import type { ActionSubmission } from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import type { Transaction } from '../../db/database.ts'
import { accountDayStart } from '../policy/account-day.ts'
import type { AdPlatform } from '../policy/ad-platform.ts'
import { type DayUsage, type Evaluation, evaluateAction } from '../policy/evaluate-action.ts'
import type { JudgedAccount } from './account-store.ts'
import { usageSince } from './action-store.ts'

export interface EvaluationOrder {
  submissions: readonly ActionSubmission[]
  account: JudgedAccount
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
  { submissions, account, policy, at }: EvaluationOrder,
): Promise<EvaluatedAction[]> {
  const { adAccountId, timeZone } = account
  const targets = submissions.map(({ target_entity: { type, id } }) => ({ type, id }))
  const entities = await platform.readEntities(transaction, adAccountId, targets)
  let usedToday = await usageSince(transaction, adAccountId, accountDayStart(at, timeZone))
  const evaluated: EvaluatedAction[] = []
  for (const submission of submissions) {
    const { type, params, target_entity: target } = submission
    const entity = entities.find(found => found.type === target.type && found.id === target.id)
    const grounds = { policy, entity: entity ?? null, usedToday, account, at }
    const evaluation = evaluateAction({ type, target, params }, grounds)
    evaluated.push({ submission, evaluation })
    if (evaluation.decision !== 'block') usedToday = added(usedToday, evaluation.changeMinor)
  }
  return evaluated
}

function added({ changedMinor, actionCount }: DayUsage, changeMinor: number): DayUsage {
  return { changedMinor: changedMinor + changeMinor, actionCount: actionCount + 1 }
}
