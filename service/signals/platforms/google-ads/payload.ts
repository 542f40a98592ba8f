import { omitNull } from '../../../runtime/util/is-object.ts'
import { DAY_MILLISECONDS, DAY_SECONDS } from '../../../runtime/util/time.ts'
import type { ContentItem } from '../../events/order-contents.ts'
import type { OutboundEvent, SendError } from '../platform.ts'
import { toSendError } from '../send-answer.ts'
import { findValueError, isDecimal, toMoneyNumber, toRfc3339 } from '../units.ts'
import { CLICK_ID_NAMES, SESSION_ATTRIBUTES } from './click-ids.ts'
import type { GoogleAdsTarget } from './target.ts'

/** One request takes so many conversion actions (IngestEventsRequest.destinations). */
export const CONVERSION_ACTIONS_MAX = 10

/** The body of `POST /v1/events:ingest`. All events have one of at most ten conversion actions. */
export function ingestRequest(
  events: readonly OutboundEvent[],
  { target, isTest }: { target: GoogleAdsTarget; isTest: boolean },
): Record<string, unknown> {
  const actions = [...new Set(events.map(({ platformName }) => platformName))]
  return {
    destinations: actions.map(action => destinationOf(action, target)),
    events: events.map(event => eventOf(event, target)),
    encoding: 'HEX',
    ...(isTest && { validateOnly: true }),
  }
}

/** The conversion action is its own reference within the request. */
function destinationOf(action: string, target: GoogleAdsTarget): Record<string, unknown> {
  return omitNull({
    reference: action,
    operatingAccount: toAccount(target.customerId),
    loginAccount: target.loginCustomerId && toAccount(target.loginCustomerId),
    productDestinationId: action,
  })
}

function toAccount(accountId: string): Record<string, unknown> {
  return { accountType: 'GOOGLE_ADS', accountId }
}

function eventOf(event: OutboundEvent, target: GoogleAdsTarget): Record<string, unknown> {
  return omitNull({
    destinationReferences: [event.platformName],
    transactionId: toTransactionId(event),
    eventTimestamp: toRfc3339(event.eventTime),
    eventSource: EVENT_SOURCES.get(event.actionSource) ?? 'OTHER',
    ...moneyOf(event),
    adIdentifiers: adIdentifiersOf(event),
    userData: userDataOf(event),
    eventDeviceInfo: deviceInfoOf(event),
    userProperties: userPropertiesOf(event),
    cartData: cartDataOf(event, target),
    consent: consentOf(event),
  })
}

/** The value of a refund is no value of its order. */
const REFUND = 'Refund'

/**
 * What makes one conversion of two reports. The order's ID is what a shop's tag names too. An event
 * of a page keeps its own ID: anyone can forge one, and the same ID would change the order's value.
 */
export function toTransactionId(event: OutboundEvent): string {
  const isOrder = event.mayRestateValue && event.eventName !== REFUND
  return (isOrder && event.orderId) || event.eventId
}

/** Maps, because callers choose the words, and `__proto__` may be one. */
const EVENT_SOURCES: ReadonlyMap<string, string> = new Map([
  ['website', 'WEB'],
  ['app', 'APP'],
  ['physical_store', 'IN_STORE'],
  ['phone_call', 'PHONE'],
  ['chat', 'MESSAGE'],
  ['business_messaging', 'MESSAGE'],
])

/** Written digit by digit, never as a float. A value in an unknown currency is not sent. */
function moneyOf({ valueAmount, valueCurrency }: OutboundEvent): Record<string, unknown> {
  if (!valueAmount || !valueCurrency) return {}
  return { conversionValue: toMoneyNumber(valueAmount), currency: valueCurrency }
}

function adIdentifiersOf({ plain }: OutboundEvent): Record<string, unknown> | null {
  const { gclid = null, gbraid = null, wbraid = null } = plain
  const sessionAttributes = plain[SESSION_ATTRIBUTES] ?? null
  return orNull(omitNull({ gclid, gbraid, wbraid, sessionAttributes }))
}

const USER_IDENTIFIERS_MAX = 10

function userDataOf({ digests }: OutboundEvent): Record<string, unknown> | null {
  const userIdentifiers = [
    ...(digests.em ?? []).map(emailAddress => ({ emailAddress })),
    ...(digests.ph ?? []).map(phoneNumber => ({ phoneNumber })),
  ].slice(0, USER_IDENTIFIERS_MAX)
  return userIdentifiers.length === 0 ? null : { userIdentifiers }
}

function deviceInfoOf({ plain }: OutboundEvent): Record<string, unknown> | null {
  const { client_user_agent: userAgent = null, client_ip_address: ipAddress = null } = plain
  return orNull(omitNull({ userAgent, ipAddress }))
}

const CUSTOMER_TYPES: ReadonlyMap<string, string> = new Map([
  ['new_customer_to_business', 'NEW'],
  ['existing_customer_to_business', 'RETURNING'],
])

function userPropertiesOf({ customerSegment }: OutboundEvent): Record<string, unknown> | null {
  const customerType = CUSTOMER_TYPES.get(customerSegment ?? '')
  return customerType === undefined ? null : { customerType }
}

/** Without a Merchant Center account Google could not tell whose products the IDs are. */
function cartDataOf(
  { contents }: OutboundEvent,
  { merchantId, feedLabel, feedLanguage }: GoogleAdsTarget,
): Record<string, unknown> | null {
  if (merchantId === null || contents.length === 0) return null
  return omitNull({
    merchantId,
    merchantFeedLabel: feedLabel,
    merchantFeedLanguageCode: feedLanguage,
    items: contents.map(itemOf),
  })
}

function itemOf(item: ContentItem): Record<string, unknown> {
  return omitNull({
    merchantProductId: String(item.id),
    itemId: String(item.id),
    quantity: readQuantity(item.quantity),
    unitPrice: readPrice(item.item_price),
  })
}

/** Items are free-form: one with an own `toString` cannot be made text. */
function toItemText(value: unknown): string {
  return typeof value === 'number' || typeof value === 'string' ? String(value) : ''
}

/** An int64, which protocol buffers write as text in JSON. */
function readQuantity(quantity: unknown): string | null {
  const text = toItemText(quantity)
  return /^[1-9]\d{0,9}$/.test(text) ? text : null
}

function readPrice(price: unknown): number | null {
  const text = toItemText(price)
  return isDecimal(text) ? toMoneyNumber(text) : null
}

/** An event that may only be counted is not used to choose who sees an advertisement. */
function consentOf({ adConsent, optOut, dataProcessing }: OutboundEvent) {
  const isLimited = optOut || (dataProcessing?.options?.length ?? 0) > 0
  return {
    adUserData: toStatus(adConsent.userData),
    adPersonalization: toStatus(adConsent.personalization && !isLimited),
  }
}

function toStatus(isGranted: boolean): string {
  return isGranted ? 'CONSENT_GRANTED' : 'CONSENT_DENIED'
}

function orNull(members: Record<string, unknown>): Record<string, unknown> | null {
  return Object.keys(members).length === 0 ? null : members
}

const CONVERSION_ACTION = /^\d{1,20}$/
const CLICK_AGE_DAYS_MAX = 90
const PERSON_AGE_DAYS_MAX = 63

/** Older events are not matched by any identifier. */
export const WINDOW_SECONDS = CLICK_AGE_DAYS_MAX * DAY_SECONDS

/**
 * Why Google would refuse this event. It is checked before sending, because one event refuses its
 * whole request, and the result that comes later names no event.
 */
export function validateGoogleEvent(event: OutboundEvent, now: Date): SendError | null {
  const message =
    validateRequired(event) ??
    validateAge(event, now) ??
    findValueError(event.valueAmount, event.valueCurrency)
  return message === null ? null : toSendError('local', { message })
}

const DIGEST = /^[0-9a-f]{64}$/

function validateRequired({ platformName, eventTime, digests, plain }: OutboundEvent) {
  if (!CONVERSION_ACTION.test(platformName)) {
    return 'The event name has no conversion action of Google Ads: add it to the destination.'
  }
  if (Number.isNaN(eventTime.getTime())) return 'The event_time is no time.'
  const identifiers = [...(digests.em ?? []), ...(digests.ph ?? [])]
  if (!identifiers.every(digest => DIGEST.test(digest))) {
    return 'The user_data.em and user_data.ph must be SHA-256 digests.'
  }
  if (identifiers.length > 0 || hasClick(plain)) return null
  return 'The event names no click and no person: add a gclid, an email address or a phone number.'
}

function hasClick(plain: OutboundEvent['plain']): boolean {
  return CLICK_ID_NAMES.some(name => Boolean(plain[name]))
}

function validateAge({ eventTime, plain }: OutboundEvent, now: Date): string | null {
  const days = (now.getTime() - eventTime.getTime()) / DAY_MILLISECONDS
  if (hasClick(plain) || days <= PERSON_AGE_DAYS_MAX) return null
  return 'Without a click ID, Google Ads matches events of the last 63 days only.'
}
