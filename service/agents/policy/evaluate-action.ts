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

/** What somebody wants to do. */
export interface CandidateAction {
  type: ActionType
  target: EntityRef
  params: ActionSubmission['params']
}

/** What was begun in the ad account on this day of its time zone, before the action. */
export interface DayUsage {
  /** The sum of what budgets were moved by, up or down, in minor units. */
  changedMinor: number
  actionCount: number
}

/** Everything that a decision is made from. */
export interface PolicyInput {
  policy: ActionPolicy
  /** As it is now; null: the ad account has no such entity. */
  entity: EntityState | null
  /** With the earlier actions of the same proposal that are not blocked. */
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
  /** As it would be, whatever the decision; null where there is no such entity. */
  proposed: EntityState | null
  changeMinor: number
}

/**
 * What the policy of a workspace says to one action (docs/decisions/0019). What cannot or may not
 * be is blocked in every mode; the rest needs a person, unless the mode is auto_with_limits and the
 * action is within all limits. A stricter limit never makes the decision milder.
 */
export function evaluateAction(action: CandidateAction, grounds: PolicyInput): Evaluation {
  const move = computeBudgetChange(action.params, grounds.entity)
  const blocking = blockingReasons(action, grounds)
  const reserved = blocking.length > 0 ? [] : approvalReasons(action, move, grounds)
  const { decision, reasons } = combineReasons(blocking, reserved)
  const { entity } = grounds
  return {
    decision,
    reasons,
    evidence: buildEvidence(move, grounds),
    before: entity,
    proposed: entity && proposedState(action, entity),
    changeMinor: move.changeMinor,
  }
}

function combineReasons(
  blocking: PolicyReason[],
  reserved: PolicyReason[],
): Pick<Evaluation, 'decision' | 'reasons'> {
  if (blocking.length > 0) return { decision: 'block', reasons: blocking }
  if (reserved.length > 0) return { decision: 'require_approval', reasons: reserved }
  return { decision: 'allow', reasons: [WITHIN_LIMITS] }
}

/** Why it cannot or may not be, whoever says yes. */
function blockingReasons(action: CandidateAction, { policy, entity }: PolicyInput): PolicyReason[] {
  const isAllowed = policy.limits.allowed_types.includes(action.type)
  const forbidden = isAllowed ? [] : [BLOCK_REASONS.typeNotAllowed(action.type)]
  const impossible = entity ? findImpossibility(action, entity) : BLOCK_REASONS.entityNotFound()
  return impossible ? [...forbidden, impossible] : forbidden
}

/** Why the change makes no sense for the entity as it is. */
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
      const wanted = params.new_daily_budget_minor ?? budget
      if (type === 'increase_budget') return wanted > budget ? null : BLOCK_REASONS.notAnIncrease()
      return wanted < budget ? null : BLOCK_REASONS.notADecrease()
    }
  }
}

/** Why a person decides; none of them: it may be carried out at once. */
function approvalReasons(
  { target }: CandidateAction,
  move: BudgetChange,
  grounds: PolicyInput,
): PolicyReason[] {
  const { policy, account, at } = grounds
  const { quiet_hours } = policy.limits
  const isAuto = policy.execution_mode === 'auto_with_limits'
  const rests =
    isAuto && quiet_hours !== null && isWithinQuietHours(quiet_hours, at, account.timeZone)
  return [
    ...modeReasons(policy.execution_mode),
    ...(target.type === 'ad_account' ? [APPROVAL_REASONS.wholeAccount()] : []),
    ...exceededLimits(move, grounds),
    ...(rests ? [APPROVAL_REASONS.quietHours(quiet_hours)] : []),
  ]
}

function modeReasons(mode: ExecutionMode): PolicyReason[] {
  return mode === 'auto_with_limits' ? [] : [APPROVAL_REASONS[mode]()]
}

/** Money limits are asked only of what moves money. */
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

/** One version on, as every change leaves it. */
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

/** How far an action moves a daily budget. */
interface BudgetChange {
  /** Up or down, in minor units; 0 where no budget moves. */
  changeMinor: number
  /** Of what it was, rounded up to hundredths, so that what is too much never reads as enough. */
  changePercent: number | null
  /** Compared in whole numbers, without rounding. */
  exceedsPercent: (percentMax: number) => boolean
}

const NO_BUDGET_CHANGE: BudgetChange = {
  changeMinor: 0,
  changePercent: null,
  exceedsPercent: () => false,
}
const PERCENT = 100

function computeBudgetChange(
  { new_daily_budget_minor: wanted }: ActionSubmission['params'],
  entity: EntityState | null,
): BudgetChange {
  const budget = entity?.daily_budget_minor ?? null
  if (wanted === undefined || budget === null) return NO_BUDGET_CHANGE
  const changeMinor = Math.abs(wanted - budget)
  return {
    changeMinor,
    changePercent: Math.ceil((changeMinor * PERCENT * PERCENT) / budget) / PERCENT,
    exceedsPercent: percentMax => changeMinor * PERCENT > percentMax * budget,
  }
}
