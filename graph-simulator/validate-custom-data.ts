import { EVENT_SUBCODES, type GraphError, invalidParameter } from './graph-errors.ts'

const NUMERIC_TEXT = /^-?\d+(\.\d+)?$/
/** The currencies of ISO 4217 in the Unicode data of Node, and units of account, which it lacks. */
const CURRENCIES = new Set([
  ...Intl.supportedValuesOf('currency'),
  ...['BOV', 'CHE', 'CHW', 'CLF', 'COU', 'MXV', 'USN', 'UYI', 'UYW', 'VED', 'XCG'],
])
/** Products, and what the catalogs for travel, vehicles and property have. */
const CONTENT_TYPES = [
  'product',
  'product_group',
  'hotel',
  'flight',
  'destination',
  'vehicle',
  'home_listing',
]
const DELIVERY_CATEGORIES = ['in_store', 'curbside', 'home_delivery']

/**
 * Validates `custom_data.value` and `custom_data.currency`: a Purchase requires both. In any event
 * they must be a number (Meta accepts a numeric string) and an ISO 4217 currency.
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
  if (isPurchase && isEmpty(value)) return missingPurchaseField('value')
  if (isPurchase && isEmpty(currency)) return missingPurchaseField('currency')
  if (!isEmpty(value) && !isNumeric(value)) return invalidNumber()
  if (isPurchase && Number(value) < 0)
    return malformedValue(['custom_data', 'value'], 'The value of a Purchase cannot be negative.')
  if (!isEmpty(currency) && !isCurrency(currency))
    return malformedValue(
      ['custom_data', 'currency'],
      'The parameter currency must be a currency of ISO 4217.',
    )
  return undefined
}

export function invalidNumber(): GraphError {
  return malformedValue(['custom_data', 'value'], 'The parameter value must be a number.')
}

function isEmpty(member: unknown): boolean {
  return member === undefined || member === null || member === ''
}

function isCurrency(code: unknown): boolean {
  return typeof code === 'string' && CURRENCIES.has(code.toUpperCase())
}

function isNumeric(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value === 'string' && NUMERIC_TEXT.test(value)
}

function missingPurchaseField(member: 'value' | 'currency'): GraphError {
  return invalidParameter(EVENT_SUBCODES.purchaseValueMissing, ['custom_data', member], {
    title: 'Purchase Without Value Or Currency',
    message: `A Purchase requires the parameter ${member} in custom_data.`,
  })
}

function malformedValue(fieldPath: string[], message: string): GraphError {
  return invalidParameter(EVENT_SUBCODES.badValue, fieldPath, { title: 'Malformed Value', message })
}

/**
 * Validates that `custom_data.contents` lists objects, that `custom_data.content_ids` lists strings
 * or numbers, and that the content type and the delivery category are known.
 * Source: Meta "Standard Parameters".
 */
export function validateContents(customData: unknown): GraphError | undefined {
  // validateValue has checked that custom_data is an object.
  const members = (customData ?? {}) as Record<string, unknown>
  const { contents, content_ids, content_type, delivery_category } = members
  if (!isMissing(contents) && !isListOf(contents, isObject))
    return malformedContents('contents', 'The parameter contents must be a list of objects.')
  if (Array.isArray(contents) && !contents.every(hasId))
    return malformedContents('contents', 'Each item of the parameter contents needs an id.')
  if (!isMissing(content_ids) && !isListOf(content_ids, isId))
    return malformedContents(
      'content_ids',
      'The parameter content_ids must list strings or numbers.',
    )
  if (!isMissing(content_type) && ![content_type].flat().every(isContentType))
    return malformedContents(
      'content_type',
      `The parameter content_type is one of ${CONTENT_TYPES.join(', ')}.`,
    )
  if (!isMissing(delivery_category) && !DELIVERY_CATEGORIES.includes(delivery_category as string))
    return malformedContents(
      'delivery_category',
      `The parameter delivery_category is one of ${DELIVERY_CATEGORIES.join(', ')}.`,
    )
  return undefined
}

export function isMissing(member: unknown): boolean {
  return member === undefined || member === null
}

function isListOf(member: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(member) && member.every(isItem)
}

export function isObject(item: unknown): item is Record<string, unknown> {
  return typeof item === 'object' && item !== null && !Array.isArray(item)
}

function isId(item: unknown): boolean {
  return typeof item === 'string' || typeof item === 'number'
}

function hasId(item: unknown): boolean {
  return isObject(item) && isId(item.id) && item.id !== ''
}

function isContentType(one: unknown): boolean {
  return typeof one === 'string' && CONTENT_TYPES.includes(one)
}

function malformedContents(member: string, message: string): GraphError {
  const fieldPath = ['custom_data', member]
  return invalidParameter(EVENT_SUBCODES.malformed, fieldPath, {
    title: 'Malformed Contents',
    message,
  })
}
