import type {
  CurrencyLimits,
  PolicyLimits,
  PolicyStateAnswer,
} from '@signalbox/contract/agents/policy.ts'
import { html } from 'ghtml'
import { buttonForm } from '../../runtime/pages/form-controls.ts'
import { formatDateTime } from '../../runtime/util/time.ts'
import { formatAmount } from '../policy/account-formats.ts'
import type { PolicyContent } from '../policy/compare-policies.ts'
import { ACTION_TYPE_LABELS, EXECUTION_MODE_LABELS, untrustedName } from './page-text.ts'

type Fact = readonly [name: string, text: string]

/** What a policy permits, for people. Plain text. */
export function policyFacts({ limits }: PolicyContent, currencies: readonly string[]): Fact[] {
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
  return `at most ${percent}% of the active budgets in 7 days, never the last one`
}

/** A limit has the same number of minor units in every currency. */
function amountText(limit: number | null, currencies: readonly string[]): string {
  if (limit === null) return 'any amount'
  if (currencies.length === 0) return `at most ${limit} minor units`
  return `at most ${currencies.map(currency => formatAmount(limit, currency)).join(' or ')}`
}

/** The first two as in the general limits; of the others only what differs. */
function currencyFact({ currency, ...own }: CurrencyLimits): Fact {
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

interface WaitingPolicy {
  state: PolicyStateAnswer
  /** Distinct currencies of the active ad accounts. */
  currencies: readonly string[]
  workspaceId: number
  isOwner: boolean
}

/**
 * The policy that waits: what it would change, since when, and for owners how to end the wait.
 * Empty if none waits. Returns HTML.
 */
export function waitingPolicyCard({ state, ...view }: WaitingPolicy): string {
  const { policy, pending } = state
  if (pending === null) return ''
  const { currencies, workspaceId, isOwner } = view
  const by = pending.saved_by === null ? 'a deleted user' : untrustedName(pending.saved_by)
  const rows = findDifferences(policy, pending, currencies).map(
    ([name, before, after]) => html`<div><dt>${name}</dt>
<dd>${after}<br><small>Now: ${before}</small></dd></div>`,
  )
  return html`<section class="card" aria-labelledby="waiting">
<h2 id="waiting">A policy that permits more is waiting</h2>
<p>It becomes valid ${formatDateTime(new Date(pending.valid_from))}, unless an owner cancels it.
Saved by !${by}, ${formatDateTime(new Date(pending.saved_at))}.</p>
<dl class="columns">!${rows.join('')}</dl>
!${isOwner ? waitingButtons(pending, workspaceId) : ''}
</section>`
}

function waitingButtons(
  pending: NonNullable<PolicyStateAnswer['pending']>,
  workspaceId: number,
): string {
  const { version, may_confirm, may_not_confirm_reason: reason } = pending
  const base = `/workspaces/${workspaceId}/policy`
  const fields = { version: String(version) }
  const confirm = buttonForm({
    action: `${base}/confirm`,
    label: 'Confirm now',
    fields,
    look: 'small',
  })
  const cancel = buttonForm({ action: `${base}/cancel`, label: 'Cancel it', fields })
  return html`!${reason === null ? '' : html`<p class="hint">${reason}</p>`}
<div class="actions">!${may_confirm ? confirm : ''}!${cancel}</div>`
}

function findDifferences(
  policy: PolicyContent,
  pending: PolicyContent,
  currencies: readonly string[],
): (readonly [name: string, before: string, after: string])[] {
  const factsOf = (content: PolicyContent): readonly Fact[] => [
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
