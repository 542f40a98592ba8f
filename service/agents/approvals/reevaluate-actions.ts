import type { PolicyReason } from '@signalbox/contract/agents/actions.ts'
import { LIMIT_CODES, type LimitCode } from '@signalbox/contract/agents/policy.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { type Evaluation, evaluateAction } from '../policy/evaluate-action.ts'
import type { Action } from '../proposals/action.ts'
import { findDayStartBudgets, findDayUsage } from '../proposals/day-usage-store.ts'
import { addUsage, type TargetStates, toBudgetContext } from '../proposals/evaluate-actions.ts'
import type { ActionPreconditions } from './action-preconditions.ts'

interface CurrentState {
  preconditions: Pick<ActionPreconditions, 'policy' | 'timeZone' | 'currency' | 'at'>
  targets: TargetStates
}

/**
 * Evaluates actions again, in the order in which they would be executed: with the current policy,
 * the totals of the current day, and the budgets that a resume sets in motion now. Each action
 * counts the earlier ones that are not blocked.
 */
export async function reevaluateActions(
  transaction: Transaction,
  actions: readonly Action[],
  { preconditions, targets }: CurrentState,
): Promise<Map<number, Evaluation>> {
  const evaluations = new Map<number, Evaluation>()
  const [first] = actions
  if (!first) return evaluations
  const { policy, timeZone, currency, at } = preconditions
  const day = { adAccountId: first.adAccountId, timeZone, ...positionInDay(first, at) }
  const findDayStartBudget = await findDayStartBudgets(transaction, day)
  let usedToday = await findDayUsage(transaction, day)
  for (const action of actions) {
    const budgets = toBudgetContext(targets, action.target, findDayStartBudget)
    const account = { currency, timeZone }
    // Whether the entity still has this state is another precondition.
    const input = { ...budgets, entity: action.before, policy, usedToday, account, at }
    const evaluation = evaluateAction(action, input)
    evaluations.set(action.id, evaluation)
    if (evaluation.decision !== 'block') usedToday = addUsage(usedToday, evaluation.changeMinor)
  }
  return evaluations
}

/** A started action keeps its share of its day: actions that started later do not count. */
function positionInDay({ id, executionStartedAt }: Action, at: Date) {
  if (executionStartedAt === null) return { at }
  return { at: executionStartedAt, before: { id, executionStartedAt } }
}

/** The exceeded limits that these reasons name. */
export function exceededLimits({ reasons }: { reasons: readonly PolicyReason[] }): LimitCode[] {
  return LIMIT_CODES.filter(limit => reasons.some(({ code }) => code === limit))
}
