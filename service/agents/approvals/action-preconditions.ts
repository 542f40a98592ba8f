import type {
  ActionOutcome,
  EntityState,
  PolicyDecision,
} from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import type { Transaction } from '../../db/database.ts'
import { lockActivePrincipal } from '../../oauth/principal-store.ts'
import { evaluateAction } from '../policy/evaluate-action.ts'
import { lockPolicy } from '../policy/policy-store.ts'
import type { Action, ActionTransition } from '../proposals/action.ts'
import { lockAdAccountShared } from '../proposals/ad-account-store.ts'

/**
 * Where an action goes that a person approves. A person approves what they were shown, by somebody
 * who may still propose it, under the rules of today; where one of these is gone, the approval
 * ends the action instead.
 */
export function resolveApproval(
  action: Action,
  standing: ActionPreconditions,
  found: EntityState | null,
): ActionTransition {
  if (hasExpired(action, standing.at)) return { to: 'rejected', outcome: 'expired' }
  if (standing.failureOutcome !== null) return { to: 'rejected', outcome: standing.failureOutcome }
  if (!isUnchanged(action.before, found)) return { to: 'rejected', outcome: 'stale' }
  if (reevaluatePolicy(action, standing) === 'block') {
    return { to: 'blocked', outcome: 'policy_changed' }
  }
  const isSuggestion = standing.policy.execution_mode === 'suggest_only'
  return { to: isSuggestion ? 'approved_without_execution' : 'executing', outcome: null }
}

/** An approval has to come before this moment. */
export function hasExpired({ expiresAt }: Pick<Action, 'expiresAt'>, at: Date): boolean {
  return at >= expiresAt
}

/** On what an action rests besides the entity itself, at one moment. */
export interface ActionPreconditions {
  at: Date
  adAccountId: number
  /** Why it rests on nothing any more; null while ad account and credential hold. */
  failureOutcome: Extract<ActionOutcome, 'account_changed' | 'proposer_revoked'> | null
  policy: ActionPolicy
  timeZone: string
  currency: string
}

/**
 * Reads what an action rests on and holds it until the transaction ends. The caller holds the
 * action. All actions of a batch rest on the same.
 */
export async function lockPreconditions(
  transaction: Transaction,
  { workspaceId, adAccountId, proposer }: Pick<Action, 'workspaceId' | 'adAccountId' | 'proposer'>,
  at: Date,
): Promise<ActionPreconditions> {
  // The account before the workspace, as proposals do.
  const { isActive, timeZone, currency } = await lockAdAccountShared(transaction, adAccountId)
  const policy = await lockPolicy(transaction, workspaceId)
  const { kind, id } = proposer
  const isLive = await lockActivePrincipal(transaction, { kind, id, adAccountId }, at)
  const loss = isActive ? (isLive ? null : 'proposer_revoked') : 'account_changed'
  return { at, adAccountId, failureOutcome: loss, policy, timeZone, currency }
}

/**
 * What the policy of this moment says to an action that was judged before. What was used of the day
 * is what it was then: the action has its place in that day since, and others that came after it
 * cannot take it away.
 */
export function reevaluatePolicy(
  { type, target, params, before: entity, policyEvidence }: Action,
  { policy, timeZone, currency, at }: ActionPreconditions,
): PolicyDecision {
  const { changed_today_minor: changedMinor, actions_today: actionCount } = policyEvidence
  const usedToday = { changedMinor, actionCount }
  const account = { currency, timeZone }
  return evaluateAction({ type, target, params }, { policy, entity, usedToday, account, at })
    .decision
}

/**
 * Whether an entity is as it was when an action was judged. The version grows with every change;
 * the rest is compared as well, for a platform that forgets to count.
 */
export function isUnchanged(before: EntityState | null, found: EntityState | null): boolean {
  if (before === null || found === null) return false
  return (
    found.type === before.type &&
    found.id === before.id &&
    found.version === before.version &&
    hasSameSettings(found, before)
  )
}

/** Whether two states deliver the same: what an action can change is equal in both. */
export function hasSameSettings(one: EntityState, other: EntityState): boolean {
  return one.status === other.status && one.daily_budget_minor === other.daily_budget_minor
}
