import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy, PolicyLimits } from '@signalbox/contract/agents/policy.ts'
import Type from 'typebox'
import { Refusal } from '../../runtime/http/refusal.ts'
import { formChoices, formText, readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import { formatMinorUnits, minorUnitDigits, parseMinorUnits } from '../policy/account-formats.ts'

/** The fields of the policy form, as text. */
export interface PolicyFormValues {
  version: string
  /** Decimal digits of amounts in the form. */
  amount_digits: string
  execution_mode: string
  allowed_types: readonly string[]
  change_percent_max: string
  change_minor_max: string
  daily_total_minor_max: string
  actions_per_day_max: string
  quiet_from: string
  quiet_until: string
  currency_limits: readonly CurrencyFormValues[]
}

/** Limits on amounts in one currency, in its own decimal digits. */
export interface CurrencyFormValues {
  currency: string
  change_minor_max: string
  daily_total_minor_max: string
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
    change_minor_max: money(limits.change_minor_max),
    daily_total_minor_max: money(limits.daily_total_minor_max),
    actions_per_day_max: number(limits.actions_per_day_max),
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
    return {
      currency,
      change_minor_max: money(own?.change_minor_max),
      daily_total_minor_max: money(own?.daily_total_minor_max),
    }
  })
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
    allowed_types: ACTION_TYPES.filter(type => types.includes(type)),
    currency_limits: currencies.map(currency => parseCurrencyForm(body, currency)),
  }
}

const CURRENCIES_MAX = 50

function parseCurrencyForm(body: unknown, currency: string): CurrencyFormValues {
  const change = currencyField('change_minor_max', currency)
  const total = currencyField('daily_total_minor_max', currency)
  const form = readForm(body, Type.Object({ [change]: formText(), [total]: formText() }))
  return {
    currency,
    change_minor_max: form[change] ?? '',
    daily_total_minor_max: form[total] ?? '',
  }
}

/**
 * The body for `changePolicy`. Invalid numbers stay text, so that `changePolicy` names them
 * together with all other errors.
 */
export function toPolicySubmission(form: PolicyFormValues): unknown {
  const digits = formMinorUnitDigits(form)
  const { quiet_from, quiet_until } = form
  const number = (text: string) => (text === '' ? null : parseWholeNumber(text))
  const money = (text: string) => (text === '' ? null : (parseMinorUnits(text, digits) ?? text))
  return {
    version: parseWholeNumber(form.version),
    execution_mode: form.execution_mode,
    limits: {
      change_percent_max: number(form.change_percent_max),
      change_minor_max: money(form.change_minor_max),
      daily_total_minor_max: money(form.daily_total_minor_max),
      actions_per_day_max: number(form.actions_per_day_max),
      allowed_types: form.allowed_types,
      quiet_hours:
        quiet_from === '' && quiet_until === '' ? null : { from: quiet_from, until: quiet_until },
      currency_limits: form.currency_limits.map(toCurrencySubmission),
    },
  }
}

function toCurrencySubmission({ currency, ...limits }: CurrencyFormValues) {
  const digits = minorUnitDigits(currency)
  const money = (text: string) => (text === '' ? null : (parseMinorUnits(text, digits) ?? text))
  return {
    currency,
    change_minor_max: money(limits.change_minor_max),
    daily_total_minor_max: money(limits.daily_total_minor_max),
  }
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
  change_minor_max: AMOUNT,
  daily_total_minor_max: AMOUNT,
  actions_per_day_max: 'Enter a whole number from 0 to 10000, or leave it empty.',
  quiet_from: MINUTE,
  quiet_until: MINUTE,
}

export function isConflict(error: unknown): boolean {
  return error instanceof Refusal && error.status === 409
}
