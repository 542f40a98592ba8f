import { ACTION_TYPES, type ActionType } from '@signalbox/contract/agents/actions.ts'
import {
  EXECUTION_MODES,
  type ExecutionMode,
  type PolicyStateAnswer,
} from '@signalbox/contract/agents/policy.ts'
import { hasPermission } from '@signalbox/contract/session/roles.ts'
import { html } from 'ghtml'
import {
  choiceGroup,
  choiceOption,
  errorSummary,
  type FormErrors,
  message,
  textField,
} from '../../runtime/pages/form-controls.ts'
import { formatDateTime } from '../../runtime/util/time.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import type { PageMembership } from '../../workspaces/users/workspace-pages.ts'
import { workspacePage } from '../../workspaces/users/workspace-pages.ts'
import { formatAmount } from '../policy/account-formats.ts'
import { AMOUNT_LIMITS, type AmountLimit } from '../policy/money-limits.ts'
import { ACTION_TYPE_LABELS, EXECUTION_MODE_LABELS } from './page-text.ts'
import { policyFacts, waitingPolicyCard } from './policy-facts.ts'
import {
  type CurrencyFormValues,
  currencyField,
  formMinorUnitDigits,
  type PolicyFormValues,
  sharedMinorUnitDigits,
  toPolicyForm,
} from './policy-form.ts'

export interface PolicyPage {
  user: CurrentUser
  membership: PageMembership
  state: PolicyStateAnswer
  /** Hours that a policy waits that permits more. */
  waitHours: number
  /** Distinct currencies of the active ad accounts. */
  currencies: readonly string[]
  submitted?: PolicyFormValues
  errors?: FormErrors
  /** Another user changed the policy while the form was open. */
  isConflict?: boolean
  notice?: string | undefined
}

/** The policy of a workspace; owners can change it. */
export function policyPage(page: PolicyPage): string {
  const { user, membership, errors = {}, isConflict = false, notice } = page
  const mayChange = hasPermission(membership.role, 'change_policy')
  const content = html`!${isConflict ? message('danger', CONFLICT) : ''}
!${errorSummary(errors)}
!${waitingPolicyCard({ ...page, workspaceId: membership.workspaceId, isOwner: mayChange })}
!${policyCard(page)}
!${mayChange ? changeForm(page) : OWNERS_ONLY}`
  return workspacePage({ user, membership, tab: 'policy', notice, content })
}

const OWNERS_ONLY = '<p>Only an owner of the workspace can change the policy.</p>'
const CONFLICT =
  'Another person changed the policy while this page was open. Compare the current policy with ' +
  'your changes, and save again if you still want them.'

function policyCard({ state: { policy }, currencies }: PolicyPage): string {
  const { execution_mode, changed_at, version } = policy
  const [name, description] = EXECUTION_MODE_LABELS[execution_mode]
  const changed =
    changed_at === null ? 'never' : `${formatDateTime(new Date(changed_at))}, version ${version}`
  const facts = [...policyFacts(policy, currencies), ['Last changed', changed] as const]
  const rows = facts.map(([term, text]) => html`<div><dt>${term}</dt><dd>${text}</dd></div>`)
  return html`<section class="card" aria-labelledby="policy">
<h2 id="policy">Current policy: ${name}</h2>
<p>${description}</p>
<dl class="columns">
!${rows.join('\n')}
</dl>
<p class="hint">Limits apply to each ad account, in its own time zone.</p>
</section>`
}

function changeForm(page: PolicyPage): string {
  const { membership, state, currencies, errors = {} } = page
  const { policy } = state
  const form = page.submitted ?? toPolicyForm(policy, sharedMinorUnitDigits(currencies), currencies)
  const field = (name: keyof typeof FIELDS, hint?: string) =>
    textField({ name, value: form[name] ?? '', errors, ...FIELDS[name], ...(hint && { hint }) })
  const amountHint = amountHintOf(currencies, formMinorUnitDigits(form))
  // After a conflict the user has seen the current policy, so saving again may replace it.
  const version = page.isConflict ? String(policy.version) : form.version
  return html`<section class="card" aria-labelledby="change">
<h2 id="change">Change the policy</h2>
<form method="post" action="/workspaces/${membership.workspaceId}/policy" class="columns">
<input type="hidden" name="version" value="${version}">
<input type="hidden" name="amount_digits" value="${form.amount_digits}">
!${choiceGroup({ name: 'execution_mode', label: 'Mode', errors, choices: modes(form) })}
!${choiceGroup({ ...TYPES_GROUP, errors, choices: types(form) })}
!${field('change_percent_max')}
!${AMOUNT_LIMITS.map(name => field(name, amountHint)).join('')}
!${field('entity_budget_times_max')}
!${field('active_spend_percent_max')}
!${form.currency_limits.map(own => currencyFields(own, errors)).join('')}
!${field('actions_per_day_max')}
!${field('quiet_from')}
!${field('quiet_until')}
<button>Save the policy</button>
</form>
<p class="hint">What permits agents less applies at once. What permits them more needs your
<a href="/account/confirm">confirmed identity</a> and waits ${page.waitHours} hours, unless another
owner confirms it or nobody else decides.</p>
</section>`
}

/** Limits on amounts in one of several currencies. */
function currencyFields(own: CurrencyFormValues, errors: FormErrors): string {
  const { currency } = own
  const field = (name: AmountLimit) =>
    textField({
      ...FIELDS[name],
      name: currencyField(name, currency),
      label: `${FIELDS[name].label}, in ${currency}`,
      hint: 'Empty: the general limit above.',
      value: own[name] ?? '',
      errors,
    })
  return html`<input type="hidden" name="limit_currency" value="${currency}">
!${AMOUNT_LIMITS.map(field).join('')}`
}

function amountHintOf(currencies: readonly string[], digits: number): string {
  if (digits !== sharedMinorUnitDigits(currencies)) return `With ${digits} decimal digits.`
  const example = currencies.map(currency => formatAmount(5_000, currency)).join(' or ')
  if (currencies.length === 0) return 'In minor units (cents): 5000 is 50.00. Empty: no limit.'
  if (currencies.length === 1) return `In ${currencies[0]}. Empty: no limit.`
  if (digits > 0) return 'In the currency of each ad account. Empty: no limit.'
  return `In minor units: 5000 is ${example}. Empty: no limit.`
}

const TYPES_GROUP = {
  name: 'allowed_types',
  label: 'Agents may propose to',
  hint: 'Other changes are blocked in every mode.',
} as const

const NUMBER = { isOptional: true, isNumeric: true, charactersMax: 14 } as const
const TIME = { type: 'time', isOptional: true } as const

const FIELDS = {
  change_percent_max: {
    ...NUMBER,
    label: 'Largest budget change per action, in percent',
    hint: 'Of the current budget. Empty: no limit.',
  },
  change_minor_max: { ...NUMBER, label: 'Largest budget change per action, as an amount' },
  daily_total_minor_max: { ...NUMBER, label: 'Total budget changes per day, as an amount' },
  weekly_total_minor_max: { ...NUMBER, label: 'Total budget changes in 7 days, as an amount' },
  monthly_total_minor_max: { ...NUMBER, label: 'Total budget changes in 30 days, as an amount' },
  entity_budget_minor_max: { ...NUMBER, label: 'Highest daily budget of a campaign or ad set' },
  account_budget_minor_max: { ...NUMBER, label: 'Highest daily budgets of the account together' },
  entity_budget_times_max: {
    ...NUMBER,
    label: 'Highest daily budget, times what it was before agents changed it',
    hint: 'Empty: no limit.',
  },
  active_spend_percent_max: {
    ...NUMBER,
    label: 'Share of the active budgets that agents may pause in 7 days, in percent',
    hint: 'More counts as pausing the whole account. Empty: all but the last active budget.',
  },
  actions_per_day_max: { ...NUMBER, label: 'Actions per day', hint: 'Empty: no limit.' },
  quiet_from: {
    ...TIME,
    label: 'Quiet hours from',
    hint: 'In the time zone of the ad account. Every change requires approval then. Empty: none.',
  },
  quiet_until: { ...TIME, label: 'Quiet hours until' },
} as const

function modes({ execution_mode }: PolicyFormValues): string[] {
  return EXECUTION_MODES.map((mode: ExecutionMode) => {
    const [name, description] = EXECUTION_MODE_LABELS[mode]
    return choiceOption({
      type: 'radio',
      name: 'execution_mode',
      value: mode,
      isChosen: mode === execution_mode,
      content: html`<strong>${name}</strong><br><small>${description}</small>`,
    })
  })
}

function types({ allowed_types }: PolicyFormValues): string[] {
  return ACTION_TYPES.map((type: ActionType) =>
    choiceOption({
      type: 'checkbox',
      name: 'allowed_types',
      value: type,
      isChosen: allowed_types.includes(type),
      content: html`${ACTION_TYPE_LABELS[type]}`,
    }),
  )
}
