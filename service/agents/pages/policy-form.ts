import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy, PolicyLimits } from '@signalbox/contract/agents/policy.ts'
import Type from 'typebox'
import { Refusal } from '../../runtime/http/refusal.ts'
import { formChoices, formText, readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import { formatMinorUnits, minorUnitDigits, parseMinorUnits } from '../policy/account-formats.ts'
import { AMOUNT_LIMITS, type AmountLimit } from '../policy/money-limits.ts'

/** The fields of the policy form, as text. */
export interface PolicyFormValues extends AmountFormValues, LaterNumbers {
  version: string
  /** Decimal digits of amounts in the form. */
  amount_digits: string
  execution_mode: string
  allowed_types: readonly string[]
  change_percent_max: string
  actions_per_day_max: string
  quiet_from: string
  quiet_until: string
  currency_limits: readonly CurrencyFormValues[]
}

/**
 * Limits that a form of an earlier version does not have. Undefined: they stay as they are, which
 * an empty field does not say.
 */
const LATER_AMOUNTS = [
  'weekly_total_minor_max',
  'monthly_total_minor_max',
  'entity_budget_minor_max',
  'account_budget_minor_max',
] as const satisfies readonly AmountLimit[]
const LATER_NUMBERS = ['entity_budget_times_max', 'active_spend_percent_max'] as const

type LaterNumbers = { [Name in (typeof LATER_NUMBERS)[number]]?: string }
type LaterAmounts = { [Name in (typeof LATER_AMOUNTS)[number]]?: string }
interface AmountFormValues extends LaterAmounts {
  change_minor_max: string
  daily_total_minor_max: string
}

/** Limits on amounts in one currency, in its own decimal digits. */
export interface CurrencyFormValues extends AmountFormValues {
  currency: string
}

export type PolicyField = keyof PolicyFormValues

const POLICY_FORM = Type.Object({
  version: formText(),
  amount_digits: formText(),
  execution_mode: formText(),
  change_percent_max: formText(),
  change_minor_max: formText(),
  daily_total_minor_max: formText(),
  actions_per_day_max: formText(),
  quiet_from: formText(),
  quiet_until: formText(),
  allowed_types: formChoices(),
  limit_currency: formChoices(),
})

/**
 * Decimal digits of amounts in the form. Limits apply to all ad accounts of a workspace, so this is
 * 0 (minor units) if their currencies have different digits.
 */
export function sharedMinorUnitDigits(currencies: readonly string[]): number {
  const digits = new Set(currencies.map(minorUnitDigits))
  const [only = 0] = digits
  return digits.size === 1 ? only : 0
}

/** The form with the current policy. Several currencies have fields of their own. */
export function toPolicyForm(
  { version, execution_mode, limits }: ActionPolicy,
  digits: number,
  currencies: readonly string[] = [],
) {
  const number = (limit: number | null) => (limit === null ? '' : String(limit))
  const money = (limit: number | null) => (limit === null ? '' : formatMinorUnits(limit, digits))
  return {
    version: String(version),
    amount_digits: String(digits),
    execution_mode,
    allowed_types: limits.allowed_types,
    change_percent_max: number(limits.change_percent_max),
    ...mapAmounts(member => money(limits[member])),
    actions_per_day_max: number(limits.actions_per_day_max),
    entity_budget_times_max: number(limits.entity_budget_times_max),
    active_spend_percent_max: number(limits.active_spend_percent_max),
    quiet_from: limits.quiet_hours?.from ?? '',
    quiet_until: limits.quiet_hours?.until ?? '',
    currency_limits: toCurrencyForms(limits, currencies),
  } satisfies PolicyFormValues
}

function toCurrencyForms(
  { currency_limits }: PolicyLimits,
  currencies: readonly string[],
): CurrencyFormValues[] {
  const limited = currency_limits.map(({ currency }) => currency)
  const shown = new Set([...(currencies.length > 1 ? currencies : []), ...limited])
  return [...shown].toSorted().map(currency => {
    const own = currency_limits.find(other => other.currency === currency)
    const money = (limit: number | null = null) =>
      limit === null ? '' : formatMinorUnits(limit, minorUnitDigits(currency))
    return { currency, ...mapAmounts(member => money(own?.[member])) }
  })
}

function mapAmounts<Text extends string | undefined>(
  text: (member: AmountLimit) => Text,
): Record<AmountLimit, Text> {
  const entries = AMOUNT_LIMITS.map(member => [member, text(member)])
  return Object.fromEntries(entries) as Record<AmountLimit, Text>
}

/** The form field of a limit in one currency, such as `change_minor_max_JPY`. */
export function currencyField(name: string, currency: string): string {
  return `${name}_${currency}`
}

/** The form as submitted. */
export function parsePolicyForm(body: unknown): PolicyFormValues {
  const { allowed_types: types, limit_currency, ...texts } = readForm(body, POLICY_FORM)
  const currencies = limit_currency.filter(code => /^[A-Z]{3}$/.test(code)).slice(0, CURRENCIES_MAX)
  return {
    ...texts,
    ...readSubmitted(body, [...LATER_AMOUNTS, ...LATER_NUMBERS]),
    allowed_types: ACTION_TYPES.filter(type => types.includes(type)),
    currency_limits: currencies.map(currency => parseCurrencyForm(body, currency)),
  }
}

const CURRENCIES_MAX = 50

/** The fields that a form has, without those that it lacks. */
function readSubmitted<Name extends string>(
  body: unknown,
  names: readonly Name[],
  fieldOf: (name: Name) => string = name => name,
): { [Key in Name]?: string } {
  const form = body instanceof URLSearchParams ? body : new URLSearchParams()
  const fields = names.map(fieldOf)
  const values = readForm(body, Type.Object(Object.fromEntries(fields.map(it => [it, formText()]))))
  const submitted = names.filter(name => form.has(fieldOf(name)))
  const entries = submitted.map(name => [name, values[fieldOf(name)]])
  return Object.fromEntries(entries) as { [Key in Name]?: string }
}

function parseCurrencyForm(body: unknown, currency: string): CurrencyFormValues {
  const own = readSubmitted(body, AMOUNT_LIMITS, name => currencyField(name, currency))
  const { change_minor_max = '', daily_total_minor_max = '' } = own
  return { ...own, currency, change_minor_max, daily_total_minor_max }
}

/**
 * The body for `changePolicy`. Invalid numbers stay text, so that `changePolicy` names them
 * together with all other errors.
 */
export function toPolicySubmission(form: PolicyFormValues): unknown {
  const { quiet_from, quiet_until } = form
  const number = (text: string) => (text === '' ? null : parseWholeNumber(text))
  const numbers = LATER_NUMBERS.flatMap(name => {
    const text = form[name]
    return text === undefined ? [] : [[name, number(text)]]
  })
  return {
    version: parseWholeNumber(form.version),
    execution_mode: form.execution_mode,
    limits: {
      change_percent_max: number(form.change_percent_max),
      ...toAmountSubmission(form, formMinorUnitDigits(form)),
      actions_per_day_max: number(form.actions_per_day_max),
      ...Object.fromEntries(numbers),
      allowed_types: form.allowed_types,
      quiet_hours:
        quiet_from === '' && quiet_until === '' ? null : { from: quiet_from, until: quiet_until },
      currency_limits: form.currency_limits.map(own => ({
        currency: own.currency,
        ...toAmountSubmission(own, minorUnitDigits(own.currency)),
      })),
    },
  }
}

function toAmountSubmission(form: AmountFormValues, digits: number) {
  const amounts = AMOUNT_LIMITS.flatMap(name => {
    const text = form[name]
    if (text === undefined) return []
    return [[name, text === '' ? null : (parseMinorUnits(text, digits) ?? text)]]
  })
  return Object.fromEntries(amounts)
}

/**
 * Digits of the submitted form, not of the current ad accounts: an amount must mean what the user
 * saw. Defaults to minor units, the smallest interpretation.
 */
export function formMinorUnitDigits({ amount_digits }: PolicyFormValues): number {
  return /^[0-3]$/.test(amount_digits) ? Number(amount_digits) : 0
}

function parseWholeNumber(text: string): number | string {
  return /^\d{1,10}$/.test(text) ? Number(text) : text
}

/** Errors by form field. Rethrows anything but a 422. */
export function policyFormErrors(
  error: unknown,
  { currency_limits = [] }: Partial<PolicyFormValues> = {},
): FormErrors {
  // For quiet hours, the schema also reports that null would be valid.
  const { 'limits.quiet_hours': _, ...named } = toFormErrors(error)
  return Object.fromEntries(
    Object.entries(named).map(([path, message]) => {
      const [, index, name = ''] = /^limits\.currency_limits\.(\d+)\.(\w+)$/.exec(path) ?? []
      const currency = currency_limits[Number(index)]?.currency
      if (currency) return [currencyField(name, currency), toFieldError(name, message)]
      const field = FIELDS[path] ?? path.replace(/^limits\./, '').replace(/\..*$/, '')
      return [field, toFieldError(field, message)]
    }),
  )
}

/** Replaces schema messages, which name JSON members instead of form fields. */
function toFieldError(field: string, message: string): string {
  if (!/^The [\w.]+ field /.test(message)) return message
  if (field.endsWith('_minor_max') && /greater than/.test(message)) return TOO_LARGE
  return ERROR_TEXTS[field] ?? message
}

const FIELDS: Record<string, PolicyField> = {
  'limits.quiet_hours.from': 'quiet_from',
  'limits.quiet_hours.until': 'quiet_until',
}

const TOO_LARGE = 'The amount is too large; leave the field empty for no limit.'
const AMOUNT = 'Enter the amount in digits with a decimal point and no commas, or leave it empty.'
const MINUTE = 'Enter both times, such as 22:00 and 07:00, or leave both empty.'
const ERROR_TEXTS: Record<string, string> = {
  execution_mode: 'Choose a mode.',
  change_percent_max: 'Enter a whole number from 0 to 1000, or leave it empty.',
  ...mapAmounts(() => AMOUNT),
  entity_budget_times_max: 'Enter a whole number from 1 to 1000, or leave it empty.',
  active_spend_percent_max: 'Enter a whole number from 0 to 100, or leave it empty.',
  actions_per_day_max: 'Enter a whole number from 0 to 10000, or leave it empty.',
  quiet_from: MINUTE,
  quiet_until: MINUTE,
}

export function isConflict(error: unknown): boolean {
  return error instanceof Refusal && error.status === 409
}
