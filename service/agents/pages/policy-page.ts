import { ACTION_TYPES, type ActionType } from '@signalbox/contract/agents/actions.ts'
import {
  type ActionPolicy,
  type CurrencyLimits,
  EXECUTION_MODES,
  type ExecutionMode,
} from '@signalbox/contract/agents/policy.ts'
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
import { hasPermission } from '../../workspaces/users/workspace-role.ts'
import { formatAmount } from '../policy/account-formats.ts'
import { ACTION_TYPE_LABELS, EXECUTION_MODE_LABELS } from './page-text.ts'
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
  policy: ActionPolicy
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
!${policyCard(page)}
!${mayChange ? changeForm(page) : OWNERS_ONLY}`
  return workspacePage({ user, membership, tab: 'policy', notice, content })
}

const OWNERS_ONLY = '<p>Only an owner of the workspace can change the policy.</p>'
const CONFLICT =
  'Another person changed the policy while this page was open. Compare the current policy with ' +
  'your changes, and save again if you still want them.'

function policyCard({ policy, currencies }: PolicyPage): string {
  const { execution_mode, limits, changed_at, version } = policy
  const [name, description] = EXECUTION_MODE_LABELS[execution_mode]
  const types = limits.allowed_types.map(type => ACTION_TYPE_LABELS[type]).join(', ')
  const amount = (limit: number | null) => amountLimitText(limit, currencies)
  const { quiet_hours: quiet } = limits
  const changed =
    changed_at === null ? 'never' : `${formatDateTime(new Date(changed_at))}, version ${version}`
  const percentText = percentLimitText(limits.change_percent_max)
  const perAction = `${percentText}, ${amount(limits.change_minor_max)}`
  const actionsText = limitText(limits.actions_per_day_max, 'actions')
  const perDay = `${actionsText}, ${amount(limits.daily_total_minor_max)}`
  return html`<section class="card" aria-labelledby="policy">
<h2 id="policy">Current policy: ${name}</h2>
<p>${description}</p>
<dl class="columns">
!${fact('Agents may propose to', types === '' ? 'nothing' : types)}
!${fact('Budget change per action', perAction)}
!${fact('Changes per day', perDay)}
!${limits.currency_limits.map(currencyLimitText).join('')}
!${fact('Quiet hours', quiet === null ? 'none' : `from ${quiet.from} until ${quiet.until}`)}
!${fact('Last changed', changed)}
</dl>
<p class="hint">Limits apply to each ad account, in its own time zone.</p>
</section>`
}

function currencyLimitText({ currency, ...own }: CurrencyLimits): string {
  const amount = (limit: number | null) =>
    limit === null ? 'the general limit' : `at most ${formatAmount(limit, currency)}`
  const perAction = `${amount(own.change_minor_max)} per action`
  return fact(
    `Amounts in ${currency}`,
    `${perAction}, ${amount(own.daily_total_minor_max)} per day`,
  )
}

function fact(name: string, text: string): string {
  return html`<div><dt>${name}</dt><dd>${text}</dd></div>`
}

function percentLimitText(limit: number | null): string {
  return limit === null ? 'any percentage' : `at most ${limit}%`
}

function limitText(limit: number | null, unit: string): string {
  return limit === null ? `any number of ${unit}` : `at most ${limit} ${unit}`
}

/** A limit has the same number of minor units in every currency. */
function amountLimitText(limit: number | null, currencies: readonly string[]): string {
  if (limit === null) return 'any amount'
  if (currencies.length === 0) return `at most ${limit} minor units`
  return `at most ${currencies.map(currency => formatAmount(limit, currency)).join(' or ')}`
}

function changeForm(page: PolicyPage): string {
  const { membership, policy, currencies, errors = {} } = page
  const form = page.submitted ?? toPolicyForm(policy, sharedMinorUnitDigits(currencies), currencies)
  const field = (name: keyof typeof FIELDS, hint?: string) =>
    textField({ name, value: form[name], errors, ...FIELDS[name], ...(hint && { hint }) })
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
!${field('change_minor_max', amountHint)}
!${field('daily_total_minor_max', amountHint)}
!${form.currency_limits.map(own => currencyFields(own, errors)).join('')}
!${field('actions_per_day_max')}
!${field('quiet_from')}
!${field('quiet_until')}
<button>Save the policy</button>
</form>
</section>`
}

/** Limits on amounts in one of several currencies. */
function currencyFields(own: CurrencyFormValues, errors: FormErrors): string {
  const { currency } = own
  const field = (name: 'change_minor_max' | 'daily_total_minor_max') =>
    textField({
      ...FIELDS[name],
      name: currencyField(name, currency),
      label: `${FIELDS[name].label}, in ${currency}`,
      hint: 'Empty: the general limit above.',
      value: own[name],
      errors,
    })
  return html`<input type="hidden" name="limit_currency" value="${currency}">
!${field('change_minor_max')}
!${field('daily_total_minor_max')}`
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
