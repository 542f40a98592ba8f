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
 * The transition of an action that a person approves. An approval applies to the state that was
 * shown, to an active proposer and to the current policy; otherwise it ends the action instead.
 */
export function resolveApproval(
  action: Action,
  preconditions: ActionPreconditions,
  found: EntityState | null,
): ActionTransition {
  if (hasExpired(action, preconditions.at)) return { to: 'rejected', outcome: 'expired' }
  if (preconditions.failureOutcome !== null)
    return { to: 'rejected', outcome: preconditions.failureOutcome }
  if (!isUnchanged(action.before, found)) return { to: 'rejected', outcome: 'stale' }
  if (reevaluatePolicy(action, preconditions) === 'block') {
    return { to: 'blocked', outcome: 'policy_changed' }
  }
  const isSuggestion = preconditions.policy.execution_mode === 'suggest_only'
  return { to: isSuggestion ? 'approved_without_execution' : 'executing', outcome: null }
}

export function hasExpired({ expiresAt }: Pick<Action, 'expiresAt'>, at: Date): boolean {
  return at >= expiresAt
}

/** What the execution of an action depends on besides its entity, at one time. */
export interface ActionPreconditions {
  at: Date
  /** Null while the ad account and the credential of the proposer are active. */
  failureOutcome: Extract<ActionOutcome, 'account_changed' | 'proposer_revoked'> | null
  policy: ActionPolicy
  timeZone: string
  currency: string
}

/**
 * Reads and locks the preconditions of an action until the transaction ends. All actions of a batch
 * have the same preconditions. The caller must have locked the action.
 */
export async function lockPreconditions(
  transaction: Transaction,
  { workspaceId, adAccountId, proposer }: Pick<Action, 'workspaceId' | 'adAccountId' | 'proposer'>,
  at: Date,
): Promise<ActionPreconditions> {
  // Lock the account before the workspace, like proposals, to avoid deadlocks.
  const { isActive, timeZone, currency } = await lockAdAccountShared(transaction, adAccountId)
  const policy = await lockPolicy(transaction, workspaceId)
  const { kind, id } = proposer
  const isProposerActive = await lockActivePrincipal(transaction, { kind, id, adAccountId }, at)
  const proposerOutcome = isProposerActive ? null : 'proposer_revoked'
  const failureOutcome = isActive ? proposerOutcome : 'account_changed'
  return { at, failureOutcome, policy, timeZone, currency }
}

/**
 * Evaluates an action again with the current policy. Uses the daily usage of the first evaluation,
 * because later actions cannot use up the share that this action already has.
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
 * Whether an entity is unchanged since the action was evaluated. Every change increments the
 * version; the settings are compared as well, in case a platform does not.
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

/** Whether everything that an action can change is equal in both states. */
export function hasSameSettings(one: EntityState, other: EntityState): boolean {
  return one.status === other.status && one.daily_budget_minor === other.daily_budget_minor
}
