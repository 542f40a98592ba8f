import type { PolicyDecision } from '@signalbox/contract/agents/actions.ts'
import { evaluateAction } from '../policy/evaluate-action.ts'
import type { Action } from '../proposals/action.ts'
import type { Standing } from './hold-standing.ts'

/**
 * What the policy of this moment says to an action that was judged before. What was used of the day
 * is what it was then: the action has its place in that day since, and others that came after it
 * cannot take it away.
 */
export function policyVerdict(
  { type, target, params, before: entity, policyEvidence }: Action,
  { policy, timeZone, currency, at }: Standing,
): PolicyDecision {
  const { changed_today_minor: changedMinor, actions_today: actionCount } = policyEvidence
  const usedToday = { changedMinor, actionCount }
  const account = { currency, timeZone }
  return evaluateAction({ type, target, params }, { policy, entity, usedToday, account, at })
    .decision
}
