import type {
  ActionOutcome,
  EntityState,
  PolicyReason,
} from '@signalbox/contract/agents/actions.ts'
import {
  type ActionPolicy,
  LIMIT_CODES,
  type LimitCode,
} from '@signalbox/contract/agents/policy.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { lockActivePrincipal } from '../../workspaces/oauth/principal-store.ts'
import { findEntity } from '../campaigns/campaign-api.ts'
import { entityKey } from '../policy/budget-in-motion.ts'
import { type Evaluation, evaluateAction } from '../policy/evaluate-action.ts'
import { lockPolicy } from '../policy/policy-store.ts'
import { AccountHistory, type TargetStates } from '../proposals/account-history.ts'
import type { Action, ActionTransition } from '../proposals/action.ts'
import { lockAdAccount } from '../proposals/ad-account-store.ts'

/**
 * How an approved action ends because a precondition changed; null if all are met. An approval
 * applies to the state that was shown, and to an active proposer and ad account.
 */
export function findOverrule(
  action: Action,
  preconditions: ActionPreconditions,
  targets: TargetStates,
): ActionTransition | null {
  if (hasExpired(action, preconditions.at)) return { to: 'rejected', outcome: 'expired' }
  if (preconditions.failureOutcome !== null)
    return { to: 'rejected', outcome: preconditions.failureOutcome }
  return isStale(action, targets) ? { to: 'rejected', outcome: 'stale' } : null
}

/** The transition of an approved action whose preconditions are met, by the current policy. */
export function resolveApproval(
  evaluation: Evaluation | undefined,
  { policy }: ActionPreconditions,
): ActionTransition {
  if (evaluation?.decision === 'block') return { to: 'blocked', outcome: 'policy_changed' }
  const isSuggestion = policy.execution_mode === 'suggest_only'
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
 * have the same preconditions. The caller must have locked the action. An approval locks the ad
 * account exclusively, so that two of them cannot both use what is left of a daily limit.
 */
export async function lockPreconditions(
  transaction: Transaction,
  { workspaceId, adAccountId, proposer }: Pick<Action, 'workspaceId' | 'adAccountId' | 'proposer'>,
  { at, lock }: { at: Date; lock: 'shared' | 'exclusive' },
): Promise<ActionPreconditions> {
  // Lock the account before the workspace, like proposals, to avoid deadlocks.
  const account = await lockAdAccount(transaction, adAccountId, lock)
  const { isActive, timeZone, currency } = account
  const policy = await lockPolicy(transaction, workspaceId, at)
  const { kind, id } = proposer
  const isProposerActive = await lockActivePrincipal(transaction, { kind, id, adAccountId }, at)
  const proposerOutcome = isProposerActive ? null : 'proposer_revoked'
  const failureOutcome = isActive ? proposerOutcome : 'account_changed'
  return { at, failureOutcome, policy, timeZone, currency }
}

/**
 * Whether the entity of an action differs from the one that was evaluated, or a resume would now
 * set more money in motion.
 */
export function isStale(
  { type, target, before, policyEvidence }: Action,
  { entities, budgetsInMotion }: TargetStates,
): boolean {
  if (!isUnchanged(before, findEntity(entities, target))) return true
  const { set_in_motion_minor: evaluated } = policyEvidence
  const current = budgetsInMotion.get(entityKey(target)) ?? null
  return type === 'resume' && evaluated !== null && (current === null || current > evaluated)
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
  const history = await AccountHistory.read(transaction, day, targets)
  const account = { currency, timeZone }
  for (const action of actions) {
    const { used } = history
    // Whether the entity still has this state is another precondition.
    const context = { ...history.contextOf(action), entity: action.before }
    const evaluation = evaluateAction(action, { ...context, policy, used, account, at })
    evaluations.set(action.id, evaluation)
    if (evaluation.decision !== 'block') history.add(action, evaluation.changeMinor)
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
