import type {
  ActionSubmission,
  ActionType,
  EntityState,
  PolicyDecision,
  PolicyEvidence,
  PolicyReason,
} from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy, ExecutionMode } from '@signalbox/contract/agents/policy.ts'
import { isWithinQuietHours } from './account-time.ts'
import type { EntityRef } from './ad-platform.ts'
import { APPROVAL_REASONS, BLOCK_REASONS, WITHIN_LIMITS } from './policy-reasons.ts'

export interface CandidateAction {
  type: ActionType
  target: EntityRef
  params: ActionSubmission['params']
}

/** Actions that were started in the ad account on its current local day. */
export interface DayUsage {
  /** The sum of absolute budget changes, in minor units. */
  changedMinor: number
  actionCount: number
}

export interface PolicyInput {
  policy: ActionPolicy
  /** Current state; null if the ad account has no such entity. */
  entity: EntityState | null
  /** Includes earlier actions of the same proposal that are not blocked. */
  usedToday: DayUsage
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
  changeMinor: number
}

/**
 * Evaluates one action against the policy of its workspace (docs/decisions/0019). Impossible and
 * disallowed actions are blocked in every mode. Others require approval, unless the mode is
 * auto_with_limits and the action is within all limits. A stricter limit never makes the decision
 * more permissive.
 */
export function evaluateAction(action: CandidateAction, input: PolicyInput): Evaluation {
  const change = computeBudgetChange(action.params, input.entity)
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

/** Why a person must approve; empty if the action may be executed immediately. */
function approvalReasons(
  { target }: CandidateAction,
  change: BudgetChange,
  input: PolicyInput,
): PolicyReason[] {
  const { policy, account, at } = input
  const { quiet_hours } = policy.limits
  const isAuto = policy.execution_mode === 'auto_with_limits'
  const isQuiet =
    isAuto && quiet_hours !== null && isWithinQuietHours(quiet_hours, at, account.timeZone)
  return [
    ...modeReasons(policy.execution_mode),
    ...(target.type === 'ad_account' ? [APPROVAL_REASONS.wholeAccount()] : []),
    ...exceededLimits(change, input),
    ...(isQuiet ? [APPROVAL_REASONS.quietHours(quiet_hours)] : []),
  ]
}

function modeReasons(mode: ExecutionMode): PolicyReason[] {
  return mode === 'auto_with_limits' ? [] : [APPROVAL_REASONS[mode]()]
}

/** Limits on amounts apply only to budget changes. */
function exceededLimits(
  { changeMinor, changePercent, exceedsPercent }: BudgetChange,
  { policy, usedToday, account: { currency } }: PolicyInput,
): PolicyReason[] {
  const { limits } = policy
  const { change_percent_max: percentMax, change_minor_max: changeMax } = limits
  const { daily_total_minor_max: totalMax, actions_per_day_max: countMax } = limits
  const sum = usedToday.changedMinor + changeMinor
  const count = usedToday.actionCount + 1
  const reasons: PolicyReason[] = []
  if (percentMax !== null && changePercent !== null && exceedsPercent(percentMax)) {
    reasons.push(APPROVAL_REASONS.changePercent(changePercent, percentMax))
  }
  if (changeMax !== null && changeMinor > changeMax) {
    reasons.push(APPROVAL_REASONS.changeAmount({ sum: changeMinor, max: changeMax, currency }))
  }
  if (totalMax !== null && changeMinor > 0 && sum > totalMax) {
    reasons.push(APPROVAL_REASONS.dailyTotal({ sum, max: totalMax, currency }))
  }
  if (countMax !== null && count > countMax) {
    reasons.push(APPROVAL_REASONS.actionsPerDay(count, countMax))
  }
  return reasons
}

function buildEvidence(
  { changeMinor, changePercent }: BudgetChange,
  { policy, usedToday, at }: PolicyInput,
): PolicyEvidence {
  return {
    policy_version: policy.version,
    execution_mode: policy.execution_mode,
    change_minor: changeMinor,
    change_percent: changePercent,
    changed_today_minor: usedToday.changedMinor,
    actions_today: usedToday.actionCount,
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

interface BudgetChange {
  /** Absolute, in minor units; 0 if the action changes no budget. */
  changeMinor: number
  /** Of the current budget, rounded up to hundredths so that an excess never reads as the limit. */
  changePercent: number | null
  /** Compares integers, without rounding. */
  exceedsPercent: (percentMax: number) => boolean
}

const NO_BUDGET_CHANGE: BudgetChange = {
  changeMinor: 0,
  changePercent: null,
  exceedsPercent: () => false,
}
const PERCENT = 100

function computeBudgetChange(
  { new_daily_budget_minor: newBudget }: ActionSubmission['params'],
  entity: EntityState | null,
): BudgetChange {
  const budget = entity?.daily_budget_minor ?? null
  if (newBudget === undefined || budget === null) return NO_BUDGET_CHANGE
  const changeMinor = Math.abs(newBudget - budget)
  return {
    changeMinor,
    changePercent: Math.ceil((changeMinor * PERCENT * PERCENT) / budget) / PERCENT,
    exceedsPercent: percentMax => changeMinor * PERCENT > percentMax * budget,
  }
}
