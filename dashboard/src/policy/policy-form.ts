import type { ActionType } from '@signalbox/contract/agents/actions.ts'
import {
  AMOUNT_LIMITS,
  type AmountLimit,
  formatMinorUnits,
  minorUnitDigits,
  NUMBER_LIMITS,
  type NumberLimit,
  parseMinorUnits,
} from '@signalbox/contract/agents/amounts.ts'
import type { ActionPolicy, ExecutionMode } from '@signalbox/contract/agents/policy.ts'

type AmountTexts = Record<AmountLimit, string>

/** Limits on amounts in one currency, in its own decimal digits. */
export interface CurrencyForm extends AmountTexts {
  currency: string
}

/** The fields of the policy form, as text. */
export interface PolicyForm extends AmountTexts, Record<NumberLimit, string> {
  /** The version that the person saw: a newer one is not overwritten. */
  version: number
  /** Decimal digits of amounts in the form: an amount means what the person saw. */
  digits: number
  execution_mode: ExecutionMode
  allowed_types: readonly ActionType[]
  quiet_from: string
  quiet_until: string
  currency_limits: readonly CurrencyForm[]
}

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
  currencies: readonly string[],
): PolicyForm {
  const digits = sharedMinorUnitDigits(currencies)
  const money = (limit: number | null) => (limit === null ? '' : formatMinorUnits(limit, digits))
  return {
    version,
    digits,
    execution_mode,
    allowed_types: limits.allowed_types,
    ...mapOf(NUMBER_LIMITS, name => textOf(limits[name])),
    ...mapOf(AMOUNT_LIMITS, name => money(limits[name])),
    quiet_from: limits.quiet_hours?.from ?? '',
    quiet_until: limits.quiet_hours?.until ?? '',
    currency_limits: toCurrencyForms(limits, currencies),
  }
}

function toCurrencyForms(
  { currency_limits }: ActionPolicy['limits'],
  currencies: readonly string[],
): CurrencyForm[] {
  const limited = currency_limits.map(({ currency }) => currency)
  const shown = new Set([...(currencies.length > 1 ? currencies : []), ...limited])
  return [...shown].toSorted().map(currency => {
    const own = currency_limits.find(other => other.currency === currency)
    const digits = minorUnitDigits(currency)
    const money = (limit: number | null = null) =>
      limit === null ? '' : formatMinorUnits(limit, digits)
    return { currency, ...mapOf(AMOUNT_LIMITS, name => money(own?.[name])) }
  })
}

function textOf(limit: number | null): string {
  return limit === null ? '' : String(limit)
}

function mapOf<Name extends string, Value>(names: readonly Name[], value: (name: Name) => Value) {
  return Object.fromEntries(names.map(name => [name, value(name)])) as Record<Name, Value>
}

/**
 * The body for `changePolicy`. Invalid numbers stay text, never no limit: the service names them
 * together with all other errors.
 */
export function toPolicySubmission(form: PolicyForm): unknown {
  const { version, digits, execution_mode, allowed_types, quiet_from, quiet_until } = form
  const isQuiet = quiet_from !== '' || quiet_until !== ''
  return {
    version,
    execution_mode,
    limits: {
      ...mapOf(NUMBER_LIMITS, name => toWholeNumber(form[name])),
      ...toAmounts(form, digits),
      allowed_types,
      quiet_hours: isQuiet ? { from: quiet_from, until: quiet_until } : null,
      currency_limits: form.currency_limits.map(own => ({
        currency: own.currency,
        ...toAmounts(own, minorUnitDigits(own.currency)),
      })),
    },
  }
}

function toAmounts(form: AmountTexts, digits: number) {
  return mapOf(AMOUNT_LIMITS, name => {
    const text = form[name].trim()
    return text === '' ? null : (parseMinorUnits(text, digits) ?? text)
  })
}

function toWholeNumber(given: string): number | string | null {
  const text = given.trim()
  if (text === '') return null
  return /^\d{1,10}$/.test(text) ? Number(text) : text
}

export type PolicyErrors = Readonly<Record<string, string>>

/** The form field of a limit in one currency, such as `change_minor_max_JPY`. */
export function currencyField(name: string, currency: string): string {
  return `${name}_${currency}`
}

/** The sentences of a 422 by form field. */
export function policyFormErrors(
  errors: Readonly<Record<string, string[]>>,
  form: PolicyForm,
): PolicyErrors {
  const named = Object.entries(errors).map(([path, [sentence = '']]) => {
    const [, index, name = ''] = /^limits\.currency_limits\.(\d+)\.(\w+)$/.exec(path) ?? []
    const currency = form.currency_limits[Number(index)]?.currency
    if (currency) return [currencyField(name, currency), toFieldError(name, sentence)]
    const field = FIELDS[path] ?? path.replace(/^limits\./, '').replace(/\..*$/, '')
    return [field, toFieldError(field, sentence)]
  })
  // For quiet hours, the schema also reports that null would be valid.
  return Object.fromEntries(named.filter(([field]) => field !== 'quiet_hours'))
}

/** Replaces schema messages, which name JSON members instead of form fields. */
function toFieldError(field: string, message: string): string {
  if (!/^The [\w.]+ field /.test(message)) return message
  if (field.endsWith('_minor_max') && /greater than/.test(message)) return TOO_LARGE
  return ERROR_TEXTS[field] ?? message
}

const FIELDS: Record<string, string> = {
  'limits.quiet_hours.from': 'quiet_from',
  'limits.quiet_hours.until': 'quiet_until',
}

const TOO_LARGE = 'The amount is too large; leave the field empty for no limit.'
const AMOUNT = 'Enter the amount in digits with a decimal point and no commas, or leave it empty.'
const MINUTE = 'Enter both times, such as 22:00 and 07:00, or leave both empty.'
const ERROR_TEXTS: Record<string, string> = {
  execution_mode: 'Choose a mode.',
  change_percent_max: 'Enter a whole number from 0 to 1000, or leave it empty.',
  ...mapOf(AMOUNT_LIMITS, () => AMOUNT),
  entity_budget_times_max: 'Enter a whole number from 1 to 1000, or leave it empty.',
  active_spend_percent_max: 'Enter a whole number from 0 to 100, or leave it empty.',
  actions_per_day_max: 'Enter a whole number from 0 to 10000, or leave it empty.',
  quiet_from: MINUTE,
  quiet_until: MINUTE,
}
