import { omitNull } from '../../../runtime/util/is-object.ts'
import { DAY_SECONDS } from '../../../runtime/util/time.ts'
import type { ContentItem } from '../../events/order-contents.ts'
import { findDigestError, findHeadError, isRestricted, toLocalError } from '../event-checks.ts'
import { readOrderItem } from '../order-items.ts'
import type { EventNames, OutboundEvent, SendError } from '../platform.ts'
import {
  findValueError,
  isDecimal,
  toMinorUnits,
  toMoneyNumber,
  toUnixMilliseconds,
} from '../units.ts'

/** "Must be within the last 7 days and no more than 10 minutes ahead". */
export const WINDOW_SECONDS = 7 * DAY_SECONDS

/** The body of `POST /v1/events`. */
export function openaiPayload(
  events: readonly OutboundEvent[],
  { isTest }: { isTest: boolean },
): Record<string, unknown> {
  return { validate_only: isTest, events: events.map(conversionOf) }
}

function conversionOf(event: OutboundEvent): Record<string, unknown> {
  const name = toOpenaiName(event.platformName)
  const user = userOf(event)
  return omitNull({
    id: event.eventId,
    type: name?.type ?? null,
    custom_event_name: name?.customName ?? null,
    timestamp_ms: toUnixMilliseconds(event.eventTime),
    action_source: toActionSource(event),
    source_url: event.eventSource || null,
    oppref: event.plain.oppref || null,
    opt_out: isRestricted(event) ? true : null,
    user: Object.keys(user).length === 0 ? null : user,
    data: dataOf(event, name?.dataType ?? 'custom'),
  })
}

type DataType = 'contents' | 'customer_action' | 'plan_enrollment' | 'custom'

interface OpenaiName {
  type: string
  dataType: DataType
  /** Present if, and only if, the type is `custom`. */
  customName: string | null
}

/** OpenAI's names, with the form of data that each has. */
const DATA_TYPES: ReadonlyMap<string, DataType> = new Map([
  ['page_viewed', 'contents'],
  ['contents_viewed', 'contents'],
  ['items_added', 'contents'],
  ['checkout_started', 'contents'],
  ['order_created', 'contents'],
  ['lead_created', 'customer_action'],
  ['registration_completed', 'customer_action'],
  ['appointment_scheduled', 'customer_action'],
  ['app_installed', 'customer_action'],
  ['app_opened', 'customer_action'],
  ['subscription_created', 'plan_enrollment'],
  ['trial_started', 'plan_enrollment'],
])

/** A map, because callers choose the words, and `__proto__` may be one. */
const STANDARD_NAMES: ReadonlyMap<string, string> = new Map([
  ['Purchase', 'order_created'],
  ['AddToCart', 'items_added'],
  ['CompleteRegistration', 'registration_completed'],
  ['Contact', 'lead_created'],
  ['InitiateCheckout', 'checkout_started'],
  ['Lead', 'lead_created'],
  ['PageView', 'page_viewed'],
  ['Schedule', 'appointment_scheduled'],
  ['StartTrial', 'trial_started'],
  ['Subscribe', 'subscription_created'],
  ['ViewContent', 'contents_viewed'],
])

const REFUND = 'Refund'
const CUSTOM = 'custom'
const CUSTOM_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?$/

/** Null for a name that OpenAI takes neither as its own nor as that of a custom event. */
export function toOpenaiName(name: string): OpenaiName | null {
  const type = DATA_TYPES.has(name) ? name : (STANDARD_NAMES.get(name) ?? CUSTOM)
  const dataType = DATA_TYPES.get(type)
  if (dataType !== undefined) return { type, dataType, customName: null }
  const isCustom = name !== CUSTOM && name !== REFUND && CUSTOM_NAME.test(name)
  return isCustom ? { type, dataType: CUSTOM, customName: name } : null
}

export const EVENT_NAMES: EventNames = {
  known: [...STANDARD_NAMES.keys(), ...DATA_TYPES.keys()],
  read(name) {
    const read = toOpenaiName(name)
    return read && (read.customName === null ? read.type : `${CUSTOM} ${read.customName}`)
  },
}

const ACTION_SOURCES: ReadonlyMap<string, string> = new Map([
  ['website', 'web'],
  ['app', 'mobile_app'],
  ['physical_store', 'physical_store'],
  ['phone_call', 'phone_call'],
  ['email', 'email'],
])

function toActionSource({ actionSource }: OutboundEvent): string {
  return ACTION_SOURCES.get(actionSource) ?? 'other'
}

const LISTS: Record<string, string> = {
  emails_sha256: 'em',
  phone_numbers_sha256: 'ph',
  external_ids_sha256: 'external_id',
  first_names_sha256: 'fn',
  last_names_sha256: 'ln',
}
/** "The first three valid, unique values". */
const VALUES_MAX = 3

function userOf({ digests, plain }: OutboundEvent): Record<string, unknown> {
  const lists = Object.entries(LISTS).map(([member, key]) => {
    const values = (digests[key] ?? []).slice(0, VALUES_MAX)
    return [member, values.length === 0 ? null : values]
  })
  return omitNull({
    ...Object.fromEntries(lists),
    ip_address: plain.client_ip_address || null,
    user_agent: plain.client_user_agent || null,
    obref: plain.obref || null,
  })
}

function dataOf(event: OutboundEvent, type: DataType): Record<string, unknown> {
  const { commerce, contents, valueAmount, valueCurrency } = event
  const takesContents = type !== 'customer_action' && contents.length > 0
  const takesPlan = type === 'plan_enrollment' || type === CUSTOM
  const { plan_id: plan } = commerce.customProperties
  return omitNull({
    type,
    ...moneyOf(valueAmount, valueCurrency),
    contents: takesContents ? contents.map(item => itemOf(item, event)) : null,
    plan_id: takesPlan && typeof plan === 'string' && plan !== '' ? plan : null,
  })
}

/** A whole number of the smallest unit of the currency: 12999 is 129.99 USD. */
function moneyOf(amount: string | null, currency: string | null) {
  const isMoney = amount !== null && isDecimal(amount) && currency !== null
  const minor = isMoney ? toMinorUnits(amount, currency) : null
  if (minor === null || currency === null) return {}
  return { amount: toMoneyNumber(minor), currency: currency.toUpperCase() }
}

function itemOf(item: ContentItem, { commerce, valueCurrency }: OutboundEvent) {
  const { id, name, price, quantity } = readOrderItem(item)
  const [contentType = null] = commerce.contentTypes
  return omitNull({
    id,
    name,
    content_type: contentType,
    quantity,
    ...moneyOf(price, valueCurrency),
  })
}

/** Why OpenAI would refuse this event, and its whole batch. */
export function validateOpenaiEvent(event: OutboundEvent): SendError | null {
  const message =
    findHeadError(event) ??
    validateRequired(event) ??
    findDigestError(event, Object.values(LISTS)) ??
    findValueError(event.valueAmount, event.valueCurrency)
  return toLocalError(message)
}

function validateRequired(event: OutboundEvent): string | null {
  const { platformName, eventSource, actionSource } = event
  if (toOpenaiName(platformName) === null) return NO_NAME_MESSAGE
  const needsPage = actionSource === 'website' && !URL.canParse(eventSource ?? '')
  return needsPage ? 'An event of a website needs its page.' : null
}

const NO_NAME_MESSAGE =
  'OpenAI takes no event of this name. To send it as another event, name it in the destination.'
