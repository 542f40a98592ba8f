import { EVENT_SUBCODES, type GraphError, invalidParameter } from './graph-errors.ts'

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
}: Record<string, unknown>): GraphError | undefined {
  const isPurchase = event_name === 'Purchase'
  if (custom_data === undefined || custom_data === null)
    return isPurchase ? missingPurchaseField('value') : undefined
  if (typeof custom_data !== 'object' || Array.isArray(custom_data))
    return malformedValue(['custom_data'], 'The parameter custom_data must be an object.')

  const { value, currency } = custom_data as Record<string, unknown>
  if (isPurchase && isAbsent(value)) return missingPurchaseField('value')
  if (isPurchase && isAbsent(currency)) return missingPurchaseField('currency')
  if (!isAbsent(value) && !isNumeric(value)) return invalidNumber()
  if (isPurchase && Number(value) < 0)
    return malformedValue(['custom_data', 'value'], 'The value of a Purchase cannot be negative.')
  if (!isAbsent(currency) && !(typeof currency === 'string' && CURRENCY.test(currency)))
    return malformedValue(
      ['custom_data', 'currency'],
      'The parameter currency must be three letters.',
    )
  return undefined
}

export function invalidNumber(): GraphError {
  return malformedValue(['custom_data', 'value'], 'The parameter value must be a number.')
}

function isAbsent(member: unknown): boolean {
  return member === undefined || member === null || member === ''
}

function isNumeric(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value === 'string' && NUMERIC_TEXT.test(value)
}

function missingPurchaseField(member: 'value' | 'currency'): GraphError {
  return invalidParameter(EVENT_SUBCODES.purchaseValueMissing, ['custom_data', member], {
    title: 'Purchase Without Value Or Currency',
    message: `A Purchase needs the parameter ${member} in custom_data.`,
  })
}

function malformedValue(blame: string[], message: string): GraphError {
  return invalidParameter(EVENT_SUBCODES.badValue, blame, { title: 'Malformed Value', message })
}

/**
 * Looks at the shapes of `custom_data.contents` (a list of objects) and `custom_data.content_ids`
 * (a list of strings or numbers), not at what stands in them. Source: Meta "Standard Parameters".
 */
export function validateContents(customData: unknown): GraphError | undefined {
  // That custom_data is an object is looked at together with the value.
  const { contents, content_ids } = (customData ?? {}) as Record<string, unknown>
  if (!isMissing(contents) && !isListOf(contents, isObject))
    return malformedContents('contents', 'The parameter contents must be a list of objects.')
  if (!isMissing(content_ids) && !isListOf(content_ids, isId))
    return malformedContents(
      'content_ids',
      'The parameter content_ids must list strings or numbers.',
    )
  return undefined
}

function isMissing(member: unknown): boolean {
  return member === undefined || member === null
}

function isListOf(member: unknown, holds: (item: unknown) => boolean): boolean {
  return Array.isArray(member) && member.every(holds)
}

function isObject(item: unknown): boolean {
  return typeof item === 'object' && item !== null && !Array.isArray(item)
}

function isId(item: unknown): boolean {
  return typeof item === 'string' || typeof item === 'number'
}

function malformedContents(member: string, message: string): GraphError {
  const blame = ['custom_data', member]
  return invalidParameter(EVENT_SUBCODES.malformed, blame, { title: 'Malformed Contents', message })
}
