import type { ActionType, PolicyReason } from '@signalbox/contract/agents/actions.ts'
import type { QuietHours } from './account-time.ts'
import { formatAmount } from './format-amount.ts'

/** Why the policy decides as it does. Codes stay; sentences may be reworded. */
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
  'quiet_hours',
] as const
export type PolicyReasonCode = (typeof POLICY_REASON_CODES)[number]

function reason(code: PolicyReasonCode, message: string): PolicyReason {
  return { code, message }
}

/** Nothing that was changed by hand since makes these possible: the action is blocked. */
export const BLOCK_REASONS = {
  typeNotAllowed: (type: ActionType) =>
    reason('type_not_allowed', `The policy of this workspace does not allow ${type}.`),
  entityNotFound: () =>
    reason('entity_not_found', 'The ad account has no such entity; check its type and its number.'),
  alreadyPaused: () => reason('already_paused', 'It is paused already.'),
  alreadyActive: () => reason('already_active', 'It is active already.'),
  accountWithoutBudget: () =>
    reason(
      'account_without_budget',
      'An ad account has no daily budget of its own; name a campaign or an ad set.',
    ),
  noDailyBudget: () =>
    reason(
      'no_daily_budget',
      'It has no daily budget of its own; change the budget where it is kept.',
    ),
  notAnIncrease: () =>
    reason('not_an_increase', 'The new daily budget is not higher than the one that it has.'),
  notADecrease: () =>
    reason('not_a_decrease', 'The new daily budget is not lower than the one that it has.'),
} as const

/** A person has to decide. */
export const APPROVAL_REASONS = {
  suggest_only: () =>
    reason(
      'suggest_only',
      'This workspace takes suggestions: a person decides and carries it out.',
    ),
  ask: () => reason('ask', 'In this workspace a person decides on every action.'),
  wholeAccount: () =>
    reason('whole_account', 'It concerns the whole ad account, so that a person decides.'),
  changePercent: (percent: number, percentMax: number) =>
    reason(
      'change_percent_exceeded',
      `It moves the daily budget by ${percent} %; the policy allows ${percentMax} % at once.`,
    ),
  changeAmount: ({ sum, max, currency }: MoneyLimit) =>
    reason(
      'change_amount_exceeded',
      `It moves the daily budget by ${formatAmount(sum, currency)}; the policy allows ` +
        `${formatAmount(max, currency)} at once.`,
    ),
  dailyTotal: ({ sum, max, currency }: MoneyLimit) =>
    reason(
      'daily_total_exceeded',
      `With it ${formatAmount(sum, currency)} would be moved today; the policy allows ` +
        `${formatAmount(max, currency)} a day.`,
    ),
  actionsPerDay: (count: number, countMax: number) =>
    reason(
      'actions_per_day_exceeded',
      `It would be action number ${count} of today; the policy allows ${countMax} a day.`,
    ),
  quietHours: ({ from, until }: QuietHours) =>
    reason(
      'quiet_hours',
      `From ${from} until ${until}, in the time zone of the ad account, nothing runs without a ` +
        'person.',
    ),
} as const

export interface MoneyLimit {
  sum: number
  max: number
  currency: string
}

export const WITHIN_LIMITS = reason('within_limits', 'It is within every limit of the policy.')
