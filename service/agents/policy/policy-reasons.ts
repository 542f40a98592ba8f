import type { ActionType, PolicyReason } from '@signalbox/contract/agents/actions.ts'
import { formatAmount } from '@signalbox/contract/agents/amounts.ts'
import type { QuietHours } from './account-formats.ts'

/** Reasons of policy decisions. Codes are stable; messages may be reworded. */
export const POLICY_REASON_CODES = [
  'within_limits',
  'type_not_allowed',
  'entity_not_found',
  'already_paused',
  'already_active',
  'account_without_budget',
  'no_daily_budget',
  'not_an_increase',
  'not_a_decrease',
  'suggest_only',
  'ask',
  'whole_account',
  'change_percent_exceeded',
  'change_amount_exceeded',
  'daily_total_exceeded',
  'actions_per_day_exceeded',
  'budget_unknown',
  'weekly_total_exceeded',
  'monthly_total_exceeded',
  'entity_budget_exceeded',
  'account_budget_exceeded',
  'quiet_hours',
] as const
export type PolicyReasonCode = (typeof POLICY_REASON_CODES)[number]

function reason(code: PolicyReasonCode, message: string): PolicyReason {
  return { code, message }
}

/** The action is blocked; approval cannot make it possible. */
export const BLOCK_REASONS = {
  typeNotAllowed: (type: ActionType) =>
    reason('type_not_allowed', `The policy of this workspace does not allow ${type}.`),
  entityNotFound: () =>
    reason('entity_not_found', 'The ad account has no such entity; check its type and ID.'),
  alreadyPaused: () => reason('already_paused', 'The entity is already paused.'),
  alreadyActive: () => reason('already_active', 'The entity is already active.'),
  accountWithoutBudget: () =>
    reason(
      'account_without_budget',
      'An ad account has no daily budget; target a campaign or an ad set.',
    ),
  noDailyBudget: () =>
    reason(
      'no_daily_budget',
      'The entity has no daily budget; target the campaign or ad set that has it.',
    ),
  notAnIncrease: () =>
    reason('not_an_increase', 'The new daily budget is not higher than the current one.'),
  notADecrease: () =>
    reason('not_a_decrease', 'The new daily budget is not lower than the current one.'),
} as const

/** The action requires approval. */
export const APPROVAL_REASONS = {
  suggest_only: () =>
    reason(
      'suggest_only',
      'This workspace only accepts suggestions: a person decides and makes the change.',
    ),
  ask: () => reason('ask', 'This workspace requires approval for every action.'),
  wholeAccount: () => reason('whole_account', 'The action affects the whole ad account.'),
  lastActive: () =>
    reason(
      'whole_account',
      'It pauses the last active entity of the ad account, which counts as the whole ad account.',
    ),
  activeSpend: (percent: number, percentMax: number) =>
    reason(
      'whole_account',
      `With what agents paused or lowered in the last 30 days, it stops ${percent}% of the ` +
        `active daily budgets; more than ${percentMax}% count as the whole ad account.`,
    ),
  spendUnknown: () =>
    reason(
      'whole_account',
      'The ad account has too many entities to tell what it would still spend.',
    ),
  changePercent: ({ percent, isSinceDayStart }: RelativeChange, percentMax: number) =>
    reason(
      'change_percent_exceeded',
      isSinceDayStart
        ? `Since the start of the day it changes the daily budget by ${percent}%; the policy ` +
            `allows ${percentMax}% per budget and day.`
        : `It changes the daily budget by ${percent}%; the policy allows ${percentMax}% per ` +
            'action.',
    ),
  changeAmount: ({ sum, max, currency, isSinceDayStart }: BudgetLimit) =>
    reason(
      'change_amount_exceeded',
      isSinceDayStart
        ? `Since the start of the day it changes the daily budget by ` +
            `${formatAmount(sum, currency)}; the policy allows ` +
            `${formatAmount(max, currency)} per budget and day.`
        : `It changes the daily budget by ${formatAmount(sum, currency)}; the policy allows ` +
            `${formatAmount(max, currency)} per action.`,
    ),
  setInMotion: ({ sum, max, currency }: MoneyLimit) =>
    reason(
      'change_amount_exceeded',
      `It sets daily budgets of ${formatAmount(sum, currency)} in motion; the policy allows ` +
        `${formatAmount(max, currency)} per action.`,
    ),
  budgetUnknown: () =>
    reason(
      'budget_unknown',
      'The daily budgets that it sets in motion are too many to add up, and the policy limits ' +
        'them.',
    ),
  dailyTotal: ({ sum, max, currency }: MoneyLimit) =>
    reason(
      'daily_total_exceeded',
      `Budget changes of today would total ${formatAmount(sum, currency)}; the policy allows ` +
        `${formatAmount(max, currency)} per day.`,
    ),
  weeklyTotal: ({ sum, max, currency }: MoneyLimit) =>
    reason(
      'weekly_total_exceeded',
      `Budget changes of the last 7 days would total ${formatAmount(sum, currency)}; the policy ` +
        `allows ${formatAmount(max, currency)}.`,
    ),
  monthlyTotal: ({ sum, max, currency }: MoneyLimit) =>
    reason(
      'monthly_total_exceeded',
      `Budget changes of the last 30 days would total ${formatAmount(sum, currency)}; the policy ` +
        `allows ${formatAmount(max, currency)}.`,
    ),
  entityBudget: ({ sum, max, currency }: MoneyLimit) =>
    reason(
      'entity_budget_exceeded',
      `It raises the daily budget to ${formatAmount(sum, currency)}; the policy allows ` +
        `${formatAmount(max, currency)} for this entity.`,
    ),
  accountBudget: ({ sum, max, currency }: MoneyLimit) =>
    reason(
      'account_budget_exceeded',
      `The daily budgets of the ad account would total ${formatAmount(sum, currency)}; the ` +
        `policy allows ${formatAmount(max, currency)}.`,
    ),
  actionsPerDay: (count: number, countMax: number) =>
    reason(
      'actions_per_day_exceeded',
      `It would be action ${count} of today; the policy allows ${countMax} per day.`,
    ),
  quietHours: ({ from, until }: QuietHours) =>
    reason(
      'quiet_hours',
      `Quiet hours are from ${from} until ${until} in the time zone of the ad account; every ` +
        'action requires approval then.',
    ),
} as const

export interface MoneyLimit {
  sum: number
  max: number
  currency: string
}

interface BudgetLimit extends MoneyLimit {
  isSinceDayStart: boolean
}

interface RelativeChange {
  percent: number
  isSinceDayStart: boolean
}

export const WITHIN_LIMITS = reason(
  'within_limits',
  'The action is within every limit of the policy.',
)
