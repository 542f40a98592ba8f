import type {
  ActionSubmission,
  EntityState,
  PolicyReason,
} from '@signalbox/contract/agents/actions.ts'
import { type AmountLimit, limitsForCurrency } from '@signalbox/contract/agents/amounts.ts'
import type { PolicyLimits } from '@signalbox/contract/agents/policy.ts'
import type { SpendChange } from './account-spend.ts'
import { APPROVAL_REASONS } from './policy-reasons.ts'

/** Actions that were started, or approved as suggestions. */
export interface Usage {
  /**
   * The sum of absolute budget changes and of resumed budgets on the account's current local day,
   * in minor units.
   */
  changedMinor: number
  /** On that day. */
  actionCount: number
  /** The sum of the last 7 days, to the second. */
  weekMinor: number
  /** The sum of the last 30 days. */
  monthMinor: number
}

/** What is known about the money of an entity, in minor units. */
export interface BudgetContext {
  /** Current state; null if the ad account has no such entity. */
  entity: EntityState | null
  /** Its daily budget at the start of the account's day; null if no action changed it since. */
  dayStartBudgetMinor: number | null
  /** The daily budget that resuming it would set in motion; null if it is unknown. */
  budgetInMotionMinor: number | null
  /** Its daily budget before the first change of an agent; null if there was none. */
  connectionBudgetMinor: number | null
  /** Null if the ad account has too many entities to tell. */
  spend: SpendChange | null
}

/** The money that one action moves, in minor units. */
export interface MoneyChange {
  /** What it adds to the total of the day; 0 if it moves no money. */
  changeMinor: number
  /** What the limits of one budget apply to; empty unless the action changes a budget. */
  steps: readonly BudgetStep[]
  /** Null unless the action resumes an entity and the amount is known. */
  setInMotionMinor: number | null
  isUnknown: boolean
  /** The new daily budget, if it is higher; else null. */
  raisedToMinor: number | null
}

interface BudgetStep {
  /** Absolute. */
  minor: number
  /** Rounded up to hundredths so that an excess never reads as the limit. */
  percent: number
  isSinceDayStart: boolean
  /** Compares integers, without rounding. */
  exceedsPercent: (percentMax: number) => boolean
}

const NOTHING: MoneyChange = {
  changeMinor: 0,
  steps: [],
  setInMotionMinor: null,
  isUnknown: false,
  raisedToMinor: null,
}

/**
 * Computes the money that an action moves. Limits of one budget apply to the change itself and to
 * the whole change since the start of the account's day, so that many small changes cannot exceed
 * the limit of a large one. Resuming counts the budget that it sets in motion.
 */
export function computeMoneyChange(
  { type, params }: Pick<ActionSubmission, 'type' | 'params'>,
  {
    entity,
    dayStartBudgetMinor,
    budgetInMotionMinor,
  }: Pick<BudgetContext, 'entity' | 'dayStartBudgetMinor' | 'budgetInMotionMinor'>,
): MoneyChange {
  if (type === 'resume') {
    return {
      ...NOTHING,
      changeMinor: budgetInMotionMinor ?? 0,
      setInMotionMinor: budgetInMotionMinor,
      isUnknown: budgetInMotionMinor === null,
    }
  }
  const { new_daily_budget_minor: newBudget } = params
  const budget = entity?.daily_budget_minor ?? null
  if (newBudget === undefined || budget === null) return NOTHING
  const step = toBudgetStep(budget, newBudget)
  const steps = [step]
  if (dayStartBudgetMinor !== null && dayStartBudgetMinor !== budget) {
    steps.push({ ...toBudgetStep(dayStartBudgetMinor, newBudget), isSinceDayStart: true })
  }
  const raisedToMinor = newBudget > budget ? newBudget : null
  return { ...NOTHING, changeMinor: step.minor, steps, raisedToMinor }
}

const PERCENT = 100

function toBudgetStep(before: number, after: number): BudgetStep {
  const minor = Math.abs(after - before)
  return {
    minor,
    percent: Math.ceil((minor * PERCENT * PERCENT) / before) / PERCENT,
    isSinceDayStart: false,
    exceedsPercent: percentMax => minor * PERCENT > percentMax * before,
  }
}

/** The largest relative change of the budget; null if the action changes no budget. */
export function largestPercent({ steps }: MoneyChange): number | null {
  return steps.length === 0 ? null : Math.max(...steps.map(({ percent }) => percent))
}

export interface LimitInput {
  limits: PolicyLimits
  /** Includes earlier actions of the same proposal that are not blocked. */
  used: Usage
  currency: string
  entity: EntityState | null
  connectionBudgetMinor: number | null
  spend: SpendChange | null
}

export const NO_AMOUNT_LIMITS: Record<AmountLimit, null> = {
  change_minor_max: null,
  daily_total_minor_max: null,
  weekly_total_minor_max: null,
  monthly_total_minor_max: null,
  entity_budget_minor_max: null,
  account_budget_minor_max: null,
}

/** A reason for each limit that the action exceeds. Limits on money ignore actions without any. */
export function findExceededLimits(
  change: MoneyChange,
  { limits: given, ...input }: LimitInput,
): PolicyReason[] {
  const limits = limitsForCurrency(given, input.currency)
  const { actions_per_day_max: countMax } = limits
  const count = input.used.actionCount + 1
  const isOverCount = countMax !== null && count > countMax
  return [
    ...findExceededBudgetLimits(change, { limits, currency: input.currency }),
    ...findExceededTotals(change, { ...input, limits }),
    ...(isOverCount ? [APPROVAL_REASONS.actionsPerDay(count, countMax)] : []),
    ...findExceededCeilings(change, { ...input, limits }),
  ]
}

/** The totals of the day, and of rolling windows of 7 and 30 days. */
function findExceededTotals(
  { changeMinor }: MoneyChange,
  { limits, used, currency }: LimitInput,
): PolicyReason[] {
  if (changeMinor === 0) return []
  const totals = [
    ['dailyTotal', limits.daily_total_minor_max, used.changedMinor],
    ['weeklyTotal', limits.weekly_total_minor_max, used.weekMinor],
    ['monthlyTotal', limits.monthly_total_minor_max, used.monthMinor],
  ] as const
  return totals.flatMap(([name, max, usedMinor]) => {
    const sum = usedMinor + changeMinor
    return max !== null && sum > max ? [APPROVAL_REASONS[name]({ sum, max, currency })] : []
  })
}

/** What no sum of allowed changes may reach: absolute budgets, and the end of the spending. */
function findExceededCeilings(
  { raisedToMinor }: MoneyChange,
  { limits, currency, entity, connectionBudgetMinor, spend }: LimitInput,
): PolicyReason[] {
  const reasons: PolicyReason[] = []
  const { entity_budget_minor_max: max, entity_budget_times_max: times } = limits
  const base = connectionBudgetMinor ?? entity?.daily_budget_minor ?? null
  const ceilings = [max, times !== null && base !== null ? times * base : null]
  const ceiling = ceilings.filter(limit => limit !== null).toSorted((a, b) => a - b)[0]
  if (raisedToMinor !== null && ceiling !== undefined && raisedToMinor > ceiling) {
    const sum = raisedToMinor
    reasons.push(APPROVAL_REASONS.entityBudget({ sum, max: ceiling, currency }))
  }
  const { account_budget_minor_max: accountMax } = limits
  if (accountMax !== null && spend?.raisesTotal && spend.totalAfterMinor > accountMax) {
    const sum = spend.totalAfterMinor
    reasons.push(APPROVAL_REASONS.accountBudget({ sum, max: accountMax, currency }))
  }
  return reasons
}

/**
 * Why a pause or a lower budget counts as a pause of the whole ad account; null if it does not.
 * Only a pause can stop the last active entity.
 */
export function findWholeAccountStop(
  type: ActionSubmission['type'],
  spend: SpendChange | null,
  { active_spend_percent_max: percentMax }: PolicyLimits,
): PolicyReason | null {
  if (type !== 'pause' && (type !== 'decrease_budget' || percentMax === null)) return null
  if (spend === null) return APPROVAL_REASONS.spendUnknown()
  const { stopsLast, stoppedMinor, earlierMinor, activeMinor } = spend
  if (stopsLast) return APPROVAL_REASONS.lastActive()
  const stopped = stoppedMinor + earlierMinor
  const total = activeMinor + earlierMinor
  if (percentMax === null || stoppedMinor === 0 || stopped * PERCENT <= percentMax * total) {
    return null
  }
  const percent = Math.ceil((stopped * PERCENT) / total)
  return APPROVAL_REASONS.activeSpend(percent, percentMax)
}

const UNKNOWABLE_LIMITS = [
  'change_minor_max',
  'daily_total_minor_max',
  'weekly_total_minor_max',
  'monthly_total_minor_max',
  'account_budget_minor_max',
] as const satisfies readonly AmountLimit[]

function findExceededBudgetLimits(
  { steps, setInMotionMinor, isUnknown }: MoneyChange,
  { limits, currency }: Pick<LimitInput, 'limits' | 'currency'>,
): PolicyReason[] {
  const { change_percent_max: percentMax, change_minor_max: max } = limits
  const reasons: PolicyReason[] = []
  const relative = steps
    .filter(({ exceedsPercent }) => percentMax !== null && exceedsPercent(percentMax))
    .toSorted((one, other) => other.percent - one.percent)[0]
  if (percentMax !== null && relative) {
    reasons.push(APPROVAL_REASONS.changePercent(relative, percentMax))
  }
  const absolute = steps.toSorted((one, other) => other.minor - one.minor)[0]
  if (max !== null && absolute && absolute.minor > max) {
    const { minor: sum, isSinceDayStart } = absolute
    reasons.push(APPROVAL_REASONS.changeAmount({ sum, max, currency, isSinceDayStart }))
  }
  if (max !== null && setInMotionMinor !== null && setInMotionMinor > max) {
    reasons.push(APPROVAL_REASONS.setInMotion({ sum: setInMotionMinor, max, currency }))
  }
  const hasLimit = UNKNOWABLE_LIMITS.some(member => limits[member] !== null)
  if (isUnknown && hasLimit) reasons.push(APPROVAL_REASONS.budgetUnknown())
  return reasons
}
