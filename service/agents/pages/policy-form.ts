import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import { Refusal } from '../../http/refusal.ts'
import { readFormText, toFormErrors } from '../../pages/form-body.ts'
import type { FormErrors } from '../../pages/form-controls.ts'
import { formatMinorUnits, minorUnitDigits, parseMinorUnits } from '../policy/format-amount.ts'

/** What the form of the policy holds, as it was typed. */
export interface PolicyFormValues {
  version: string
  /** How many digits amounts have in it. */
  amount_digits: string
  execution_mode: string
  allowed_types: readonly string[]
  change_percent_max: string
  change_minor_max: string
  daily_total_minor_max: string
  actions_per_day_max: string
  quiet_from: string
  quiet_until: string
}

export type PolicyField = keyof PolicyFormValues

/** The fields that hold one line. */
const LINES = [
  'version',
  'amount_digits',
  'execution_mode',
  'change_percent_max',
  'change_minor_max',
  'daily_total_minor_max',
  'actions_per_day_max',
  'quiet_from',
  'quiet_until',
] as const satisfies readonly PolicyField[]

/**
 * How many digits amounts have in the form: those of the currency when all ad accounts agree, and
 * 0, which means minor units, when they do not. Limits hold for all ad accounts of a workspace.
 */
export function sharedMinorUnitDigits(currencies: readonly string[]): number {
  const digits = new Set(currencies.map(minorUnitDigits))
  const [only = 0] = digits
  return digits.size === 1 ? only : 0
}

/** The form as it is before anybody typed. */
export function toPolicyForm({ version, execution_mode, limits }: ActionPolicy, digits: number) {
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
  } satisfies PolicyFormValues
}

/** The form as it was sent. */
export function parsePolicyForm(form: unknown): PolicyFormValues {
  const lines = Object.fromEntries(LINES.map(name => [name, readFormText(form, name)]))
  const sent = form instanceof URLSearchParams ? form.getAll('allowed_types') : []
  const allowed_types = ACTION_TYPES.filter(type => sent.includes(type))
  return { ...(lines as Record<(typeof LINES)[number], string>), allowed_types }
}

/**
 * The form as `changePolicy` takes it. What is no number goes along as it was typed, so that the
 * verb names it together with everything else that is wrong.
 */
export function toPolicySubmission(typed: PolicyFormValues): unknown {
  const digits = formMinorUnitDigits(typed)
  const { quiet_from, quiet_until } = typed
  const number = (text: string) => (text === '' ? null : parseWholeNumber(text))
  const money = (text: string) => (text === '' ? null : (parseMinorUnits(text, digits) ?? text))
  return {
    version: parseWholeNumber(typed.version),
    execution_mode: typed.execution_mode,
    limits: {
      change_percent_max: number(typed.change_percent_max),
      change_minor_max: money(typed.change_minor_max),
      daily_total_minor_max: money(typed.daily_total_minor_max),
      actions_per_day_max: number(typed.actions_per_day_max),
      allowed_types: typed.allowed_types,
      quiet_hours:
        quiet_from === '' && quiet_until === '' ? null : { from: quiet_from, until: quiet_until },
    },
  }
}

/**
 * By what stood in the form, not by the ad accounts of this moment: an amount is never read as
 * another than whoever typed it saw. Left out, amounts are minor units, which is the least.
 */
export function formMinorUnitDigits({ amount_digits }: PolicyFormValues): number {
  return /^[0-3]$/.test(amount_digits) ? Number(amount_digits) : 0
}

function parseWholeNumber(text: string): number | string {
  return /^\d{1,10}$/.test(text) ? Number(text) : text
}

/** What is wrong, by the fields of the form. Throws again what is no 422. */
export function policyFormErrors(error: unknown): FormErrors {
  // Of both times or nothing, the schema says also that nothing would have been right.
  const { 'limits.quiet_hours': _, ...named } = toFormErrors(error)
  const faults = Object.entries(named)
  return Object.fromEntries(
    faults.map(([path, sentence]) => {
      const field = FIELDS[path] ?? path.replace(/^limits\./, '').replace(/\..*$/, '')
      return [field, formSentence(field, sentence)]
    }),
  )
}

/** The words of a schema name members that the form does not have. */
function formSentence(field: string, sentence: string): string {
  if (!/^The [\w.]+ field /.test(sentence)) return sentence
  if (field.endsWith('_minor_max') && /greater than/.test(sentence)) return TOO_LARGE
  return ERROR_TEXTS[field] ?? sentence
}

const FIELDS: Record<string, PolicyField> = {
  'limits.quiet_hours.from': 'quiet_from',
  'limits.quiet_hours.until': 'quiet_until',
}

const TOO_LARGE = 'The amount is too large; leave the field empty for no limit.'
const AMOUNT = 'Write the amount in digits, with a point and no comma, or leave it empty.'
const MINUTE = 'Give both times, such as 22:00 and 07:00, or leave both empty.'
const ERROR_TEXTS: Record<string, string> = {
  execution_mode: 'Choose one of the modes.',
  change_percent_max: 'Give a whole number from 0 to 1000, or leave it empty.',
  change_minor_max: AMOUNT,
  daily_total_minor_max: AMOUNT,
  actions_per_day_max: 'Give a whole number from 0 to 10000, or leave it empty.',
  quiet_from: MINUTE,
  quiet_until: MINUTE,
}

/** Whether somebody else was faster. */
export function isConflict(error: unknown): boolean {
  return error instanceof Refusal && error.status === 409
}
