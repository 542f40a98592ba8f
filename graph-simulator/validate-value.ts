import { EVENT_SUBCODES, type GraphRefusal, invalidParameter } from './graph-refusal.ts'

const NUMERIC_TEXT = /^-?\d+(\.\d+)?$/
const CURRENCY = /^[A-Za-z]{3}$/

/**
 * Looks at `custom_data.value` and `custom_data.currency`: a Purchase needs both, and wherever they
 * appear they must be a number (Meta tolerates a numeric string) and three letters.
 * Source: Meta "Standard Parameters".
 */
export function validateValue({
  event_name,
  custom_data,
}: Record<string, unknown>): GraphRefusal | undefined {
  const isPurchase = event_name === 'Purchase'
  if (custom_data === undefined || custom_data === null)
    return isPurchase ? purchaseNeeds('value') : undefined
  if (typeof custom_data !== 'object' || Array.isArray(custom_data))
    return badValue(['custom_data'], 'The parameter custom_data must be an object.')

  const { value, currency } = custom_data as Record<string, unknown>
  if (isPurchase && isAbsent(value)) return purchaseNeeds('value')
  if (isPurchase && isAbsent(currency)) return purchaseNeeds('currency')
  if (!isAbsent(value) && !isNumeric(value)) return badNumber()
  if (isPurchase && Number(value) < 0)
    return badValue(['custom_data', 'value'], 'The value of a Purchase cannot be negative.')
  if (!isAbsent(currency) && !(typeof currency === 'string' && CURRENCY.test(currency)))
    return badValue(['custom_data', 'currency'], 'The parameter currency must be three letters.')
  return undefined
}

export function badNumber(): GraphRefusal {
  return badValue(['custom_data', 'value'], 'The parameter value must be a number.')
}

function isAbsent(member: unknown): boolean {
  return member === undefined || member === null || member === ''
}

function isNumeric(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value === 'string' && NUMERIC_TEXT.test(value)
}

function purchaseNeeds(member: 'value' | 'currency'): GraphRefusal {
  return invalidParameter(EVENT_SUBCODES.purchaseValueMissing, ['custom_data', member], {
    title: 'Purchase Without Value Or Currency',
    message: `A Purchase needs the parameter ${member} in custom_data.`,
  })
}

function badValue(blame: string[], message: string): GraphRefusal {
  return invalidParameter(EVENT_SUBCODES.badValue, blame, { title: 'Malformed Value', message })
}
