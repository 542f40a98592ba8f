import type {
  ActionSubmission,
  ActionType,
  EntityState,
  PolicyDecision,
  PolicyEvidence,
  PolicyReason,
} from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy, ExecutionMode } from '@signalbox/contract/agents/policy.ts'
import type { EntityRef } from '../campaigns/campaign-api.ts'
import { isWithinQuietHours } from './account-formats.ts'
import {
  type BudgetContext,
  computeMoneyChange,
  findExceededLimits,
  findWholeAccountStop,
  largestPercent,
  type MoneyChange,
  type Usage,
} from './money-limits.ts'
import { APPROVAL_REASONS, BLOCK_REASONS, WITHIN_LIMITS } from './policy-reasons.ts'

export interface CandidateAction {
  type: ActionType
  target: EntityRef
  params: ActionSubmission['params']
}

export interface PolicyInput extends BudgetContext {
  policy: ActionPolicy
  /** Includes earlier actions of the same proposal that are not blocked. */
  used: Usage
  account: { currency: string; timeZone: string }
  at: Date
}

export interface Evaluation {
  decision: PolicyDecision
  /** At least one. */
  reasons: PolicyReason[]
  evidence: PolicyEvidence
  before: EntityState | null
  /** The state after the change, regardless of the decision; null if there is no such entity. */
  proposed: EntityState | null
  /** What the action adds to the total of the day, in minor units. */
  changeMinor: number
}

/**
 * Evaluates one action against the policy of its workspace (docs/decisions/0019). Impossible and
 * disallowed actions are blocked in every mode. Others require approval, unless the mode is
 * auto_with_limits and the action is within all limits. A stricter limit never makes the decision
 * more permissive.
 */
export function evaluateAction(action: CandidateAction, input: PolicyInput): Evaluation {
  const change = computeMoneyChange(action, input)
  const blocking = blockingReasons(action, input)
  const approval = blocking.length > 0 ? [] : approvalReasons(action, change, input)
  const { decision, reasons } = combineReasons(blocking, approval)
  const { entity } = input
  return {
    decision,
    reasons,
    evidence: buildEvidence(change, input),
    before: entity,
    proposed: entity && proposedState(action, entity),
    changeMinor: change.changeMinor,
  }
}

function combineReasons(
  blocking: PolicyReason[],
  approval: PolicyReason[],
): Pick<Evaluation, 'decision' | 'reasons'> {
  if (blocking.length > 0) return { decision: 'block', reasons: blocking }
  if (approval.length > 0) return { decision: 'require_approval', reasons: approval }
  return { decision: 'allow', reasons: [WITHIN_LIMITS] }
}

/** Why the action is impossible or disallowed, even with approval. */
function blockingReasons(action: CandidateAction, { policy, entity }: PolicyInput): PolicyReason[] {
  const isAllowed = policy.limits.allowed_types.includes(action.type)
  const forbidden = isAllowed ? [] : [BLOCK_REASONS.typeNotAllowed(action.type)]
  const impossible = entity ? findImpossibility(action, entity) : BLOCK_REASONS.entityNotFound()
  return impossible ? [...forbidden, impossible] : forbidden
}

/** Why the change is impossible in the current state of the entity. */
function findImpossibility(
  { type, target, params }: CandidateAction,
  { status, daily_budget_minor: budget }: EntityState,
): PolicyReason | null {
  switch (type) {
    case 'pause':
      return status === 'paused' ? BLOCK_REASONS.alreadyPaused() : null
    case 'resume':
      return status === 'active' ? BLOCK_REASONS.alreadyActive() : null
    case 'increase_budget':
    case 'decrease_budget': {
      if (target.type === 'ad_account') return BLOCK_REASONS.accountWithoutBudget()
      if (budget === null) return BLOCK_REASONS.noDailyBudget()
      const newBudget = params.new_daily_budget_minor ?? budget
      if (type === 'increase_budget')
        return newBudget > budget ? null : BLOCK_REASONS.notAnIncrease()
      return newBudget < budget ? null : BLOCK_REASONS.notADecrease()
    }
  }
}

/** Why a user must approve; empty if the action may be executed immediately. */
function approvalReasons(
  action: CandidateAction,
  change: MoneyChange,
  input: PolicyInput,
): PolicyReason[] {
  const { policy, account, at } = input
  const { quiet_hours } = policy.limits
  const isAuto = policy.execution_mode === 'auto_with_limits'
  const isQuiet =
    isAuto && quiet_hours !== null && isWithinQuietHours(quiet_hours, at, account.timeZone)
  return [
    ...modeReasons(policy.execution_mode),
    ...wholeAccountReasons(action, input),
    ...findExceededLimits(change, { ...input, limits: policy.limits, currency: account.currency }),
    ...(isQuiet ? [APPROVAL_REASONS.quietHours(quiet_hours)] : []),
  ]
}

function wholeAccountReasons(
  { type, target }: CandidateAction,
  { policy, spend }: PolicyInput,
): PolicyReason[] {
  if (target.type === 'ad_account') return [APPROVAL_REASONS.wholeAccount()]
  const reason = findWholeAccountStop(type, spend, policy.limits)
  return reason === null ? [] : [reason]
}

function modeReasons(mode: ExecutionMode): PolicyReason[] {
  return mode === 'auto_with_limits' ? [] : [APPROVAL_REASONS[mode]()]
}

function buildEvidence(
  change: MoneyChange,
  { policy, used, at, entity, spend, ...budgets }: PolicyInput,
): PolicyEvidence {
  return {
    policy_version: policy.version,
    execution_mode: policy.execution_mode,
    change_minor: change.changeMinor,
    change_percent: largestPercent(change),
    day_start_budget_minor: budgets.dayStartBudgetMinor ?? entity?.daily_budget_minor ?? null,
    set_in_motion_minor: change.setInMotionMinor,
    changed_today_minor: used.changedMinor,
    changed_week_minor: used.weekMinor,
    changed_month_minor: used.monthMinor,
    actions_today: used.actionCount,
    stopped_minor: spend?.stoppedMinor ?? 0,
    evaluated_at: at.toISOString(),
  }
}

/** The state after the change; every change increments the version. */
function proposedState({ type, params }: CandidateAction, entity: EntityState): EntityState {
  const version = entity.version + 1
  switch (type) {
    case 'pause':
      return { ...entity, version, status: 'paused' }
    case 'resume':
      return { ...entity, version, status: 'active' }
    case 'increase_budget':
    case 'decrease_budget': {
      const budget = params.new_daily_budget_minor ?? entity.daily_budget_minor
      return { ...entity, version, daily_budget_minor: budget }
    }
  }
}
