import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Action } from '../proposals/action.ts'
import type { ActionMove } from '../proposals/action-moves.ts'
import type { Standing } from './hold-standing.ts'
import { isUnchanged } from './is-unchanged.ts'
import { policyVerdict } from './policy-verdict.ts'

/**
 * Where an action goes that a person approves. A person approves what they were shown, by somebody
 * who may still propose it, under the rules of today; where one of these is gone, the approval
 * ends the action instead.
 */
export function approvalVerdict(
  action: Action,
  standing: Standing,
  found: EntityState | null,
): ActionMove {
  if (hasExpired(action, standing.at)) return { to: 'rejected', outcome: 'expired' }
  if (standing.loss !== null) return { to: 'rejected', outcome: standing.loss }
  if (!isUnchanged(action.before, found)) return { to: 'rejected', outcome: 'stale' }
  if (policyVerdict(action, standing) === 'block') {
    return { to: 'blocked', outcome: 'policy_changed' }
  }
  const isSuggestion = standing.policy.execution_mode === 'suggest_only'
  return { to: isSuggestion ? 'approved_without_execution' : 'executing', outcome: null }
}

/** An approval has to come before this moment. */
export function hasExpired({ expiresAt }: Pick<Action, 'expiresAt'>, at: Date): boolean {
  return at >= expiresAt
}
