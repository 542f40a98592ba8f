import { formatAmount } from '@signalbox/contract/agents/amounts.ts'
import type {
  ActionPolicy,
  CurrencyLimits,
  ExecutionMode,
  PolicyLimits,
} from '@signalbox/contract/agents/policy.ts'
import { ACTION_TYPE_LABELS } from '../approvals/approval-texts.ts'

type PolicyContent = Pick<ActionPolicy, 'execution_mode' | 'limits'>

export const EXECUTION_MODE_LABELS: Record<
  ExecutionMode,
  readonly [name: string, description: string]
> = {
  suggest_only: [
    'Suggest only',
    'Agents propose and people decide. Nothing is executed here: you make approved changes on ' +
      'the platform yourself.',
  ],
  ask: ['Ask', 'Agents propose. Changes that a person approves are executed immediately.'],
  auto_with_limits: [
    'Automatic within limits',
    'Changes within the limits below and outside the quiet hours are executed without approval. ' +
      'Other changes require approval.',
  ],
}

export type PolicyFact = readonly [name: string, text: string]

/** What a policy permits, for people. Plain text. */
export function policyFacts(
  { limits }: PolicyContent,
  currencies: readonly string[],
): PolicyFact[] {
  const types = limits.allowed_types.map(type => ACTION_TYPE_LABELS[type]).join(', ')
  const amount = (limit: number | null) => amountText(limit, currencies)
  const { quiet_hours: quiet } = limits
  const percent = limits.change_percent_max
  const percentText = percent === null ? 'any percentage' : `at most ${percent}%`
  const count = limits.actions_per_day_max
  const countText = count === null ? 'any number of actions' : `at most ${count} actions`
  return [
    ['Agents may propose to', types === '' ? 'nothing' : types],
    ['Budget change per action', `${percentText}, ${amount(limits.change_minor_max)}`],
    ['Changes per day', `${countText}, ${amount(limits.daily_total_minor_max)}`],
    ['Changes in 7 days', amount(limits.weekly_total_minor_max)],
    ['Changes in 30 days', amount(limits.monthly_total_minor_max)],
    ['Daily budget of one campaign or ad set', entityBudgetText(limits, amount)],
    ['Daily budgets of the ad account together', amount(limits.account_budget_minor_max)],
    ['Pausing without approval', spendText(limits)],
    ...limits.currency_limits.map(currencyFact),
    ['Quiet hours', quiet === null ? 'none' : `from ${quiet.from} until ${quiet.until}`],
  ]
}

function entityBudgetText(
  { entity_budget_minor_max: max, entity_budget_times_max: times }: PolicyLimits,
  amount: (limit: number | null) => string,
): string {
  if (times === null) return amount(max)
  const factor = `at most ${times} times what it was before agents changed it`
  return max === null ? factor : `${factor}, ${amount(max)}`
}

function spendText({ active_spend_percent_max: percent }: PolicyLimits): string {
  if (percent === null) return 'all but the last active budget'
  return `at most ${percent}% of the active budgets in 30 days, never the last one`
}

/** A limit has the same number of minor units in every currency. */
function amountText(limit: number | null, currencies: readonly string[]): string {
  if (limit === null) return 'any amount'
  if (currencies.length === 0) return `at most ${limit} minor units`
  return `at most ${currencies.map(currency => formatAmount(limit, currency)).join(' or ')}`
}

/** The first two as in the general limits; of the others only what differs. */
function currencyFact({ currency, ...own }: CurrencyLimits): PolicyFact {
  const amount = (limit: number | null) =>
    limit === null ? 'the general limit' : `at most ${formatAmount(limit, currency)}`
  const perAction = `${amount(own.change_minor_max)} per action`
  const others = OTHER_AMOUNTS.flatMap(([member, label]) => {
    const limit = own[member]
    return limit === null ? [] : [`at most ${formatAmount(limit, currency)} ${label}`]
  })
  const parts = [perAction, `${amount(own.daily_total_minor_max)} per day`, ...others]
  return [`Amounts in ${currency}`, parts.join(', ')]
}

const OTHER_AMOUNTS = [
  ['weekly_total_minor_max', 'in 7 days'],
  ['monthly_total_minor_max', 'in 30 days'],
  ['entity_budget_minor_max', 'for one daily budget'],
  ['account_budget_minor_max', 'for all daily budgets together'],
] as const

/** What differs between two policies: name, before, after. */
export function findDifferences(
  policy: PolicyContent,
  pending: PolicyContent,
  currencies: readonly string[],
): (readonly [name: string, before: string, after: string])[] {
  const factsOf = (content: PolicyContent): readonly PolicyFact[] => [
    ['Mode', EXECUTION_MODE_LABELS[content.execution_mode][0]],
    ...policyFacts(content, currencies),
  ]
  const before = new Map(factsOf(policy))
  const after = new Map(factsOf(pending))
  const names = new Set([...after.keys(), ...before.keys()])
  return [...names]
    .map(name => [name, before.get(name) ?? GENERAL, after.get(name) ?? GENERAL] as const)
    .filter(([, one, other]) => one !== other)
}

const GENERAL = 'the general limits'
