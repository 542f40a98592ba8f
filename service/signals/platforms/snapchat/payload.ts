import { omitNull } from '../../../runtime/util/is-object.ts'
import { DAY_SECONDS } from '../../../runtime/util/time.ts'
import type { ContentItem } from '../../events/order-contents.ts'
import {
  findDigestError,
  findHeadError,
  isOptedOut,
  isUseLimited,
  toLocalError,
} from '../event-checks.ts'
import { listProductIds, readOrderItem } from '../order-items.ts'
import type { EventNames, OutboundEvent, SendError } from '../platform.ts'
import { findValueError, isDecimal, toMoneyNumber, toMoneyText, toUnixSeconds } from '../units.ts'
import { canMatchPerson } from './normalize-identity.ts'

/** "Events can have a date (timestamp) of maximum 37 days back". */
export const WINDOW_SECONDS = 37 * DAY_SECONDS

/** How the value of an event is written. Snap's page and its library differ. */
export type ValueType = 'number' | 'text'

/** The body of `POST /v3/{asset}/events`, and of its validation. */
export function snapchatPayload(
  events: readonly OutboundEvent[],
  valueType: ValueType,
): Record<string, unknown> {
  return { data: events.map(event => conversionOf(event, valueType)) }
}

function conversionOf(event: OutboundEvent, valueType: ValueType): Record<string, unknown> {
  const actionSource = toActionSource(event)
  const customData = customDataOf(event, valueType)
  return omitNull({
    event_name: toSnapchatName(event.platformName),
    event_time: toUnixSeconds(event.eventTime),
    event_id: event.eventId,
    action_source: actionSource,
    event_source_url: event.eventSource,
    opt_out: isOptedOut(event) ? true : null,
    data_processing_options: isUseLimited(event) ? ['LMU'] : null,
    user_data: userDataOf(event),
    custom_data: Object.keys(customData).length === 0 ? null : customData,
    app_data: actionSource === APP ? appDataOf(event) : null,
  })
}

/** All names of Snap's, with which a destination's map may name an event. */
const SNAPCHAT_NAMES: ReadonlySet<string> = new Set(
  `ACHIEVEMENT_UNLOCKED ADD_BILLING ADD_CART ADD_TO_WISHLIST AD_CLICK AD_VIEW APP_INSTALL APP_OPEN
  COMPLETE_TUTORIAL CUSTOM_EVENT_1 CUSTOM_EVENT_2 CUSTOM_EVENT_3 CUSTOM_EVENT_4 CUSTOM_EVENT_5
  INVITE LEVEL_COMPLETE LIST_VIEW LOGIN PAGE_VIEW PURCHASE RATE RESERVE SAVE SEARCH SHARE SIGN_UP
  SPENT_CREDITS START_CHECKOUT START_TRIAL SUBSCRIBE VIEW_CONTENT`.split(/\s+/),
)

/** A map, because callers choose the words, and `__proto__` may be one. */
const STANDARD_NAMES: ReadonlyMap<string, string> = new Map([
  ['Purchase', 'PURCHASE'],
  ['AddPaymentInfo', 'ADD_BILLING'],
  ['AddToCart', 'ADD_CART'],
  ['AddToWishlist', 'ADD_TO_WISHLIST'],
  ['CompleteRegistration', 'SIGN_UP'],
  ['InitiateCheckout', 'START_CHECKOUT'],
  ['PageView', 'PAGE_VIEW'],
  ['Schedule', 'RESERVE'],
  ['Search', 'SEARCH'],
  ['StartTrial', 'START_TRIAL'],
  ['Subscribe', 'SUBSCRIBE'],
  ['ViewContent', 'VIEW_CONTENT'],
])

/** Null for a name that Snap does not have: it takes no others, and none for a lead. */
export function toSnapchatName(name: string): string | null {
  return SNAPCHAT_NAMES.has(name) ? name : (STANDARD_NAMES.get(name) ?? null)
}

export const EVENT_NAMES: EventNames = {
  known: [...STANDARD_NAMES.keys(), ...SNAPCHAT_NAMES],
  read: toSnapchatName,
}

const WEB = 'WEB'
const APP = 'MOBILE_APP'

/** What happened in no browser and no app is offline. */
function toActionSource({ actionSource }: OutboundEvent): string {
  if (actionSource === 'website') return WEB
  return actionSource === 'app' ? APP : 'OFFLINE'
}

const LISTED_KEYS = ['em', 'ph', 'fn', 'ln', 'ge', 'ct', 'st', 'zp', 'country']
const PLAIN_KEYS = ['client_ip_address', 'client_user_agent', 'sc_click_id', 'sc_cookie1']

function userDataOf({ digests, plain }: OutboundEvent): Record<string, unknown> {
  return omitNull(
    Object.fromEntries([
      ...LISTED_KEYS.map(key => [key, digests[key]?.length ? digests[key] : null]),
      // One text in Snap's library, where the others are lists.
      ['external_id', digests.external_id?.[0] ?? null],
      ...PLAIN_KEYS.map(key => [key, plain[key] || null]),
    ]),
  )
}

function customDataOf(event: OutboundEvent, valueType: ValueType): Record<string, unknown> {
  const { commerce, contents } = event
  const named = listProductIds(event)
  const toMoney = (amount: string | null) => {
    if (amount === null || !isDecimal(amount)) return null
    return valueType === 'number' ? toMoneyNumber(amount) : toMoneyText(amount)
  }
  return omitNull({
    currency: event.valueCurrency?.toUpperCase() || null,
    value: toMoney(event.valueAmount),
    order_id: event.orderId,
    num_items: Number.isSafeInteger(event.numItems) ? event.numItems : null,
    content_ids: named.length === 0 ? null : named,
    contents: contents.length === 0 ? null : contents.map(itemOf),
    content_category: commerce.contentCategory,
    content_name: commerce.contentName,
    content_type: commerce.contentTypes[0] ?? null,
    delivery_category: commerce.deliveryCategory,
    predicted_ltv: toMoney(commerce.predictedLifetimeValue),
    search_string: commerce.searchString,
  })
}

/** The numbers of an item are texts, in Snap's library and on its page. */
function itemOf(item: ContentItem): Record<string, unknown> {
  const { id, brand, price, quantity } = readOrderItem(item)
  return omitNull({
    id,
    brand,
    item_price: price === null ? null : toMoneyText(price),
    quantity: quantity === null ? null : String(quantity),
  })
}

const TEXTS_OF_APP = [
  ...['app_id', 'campaign_ids', 'install_referrer', 'installer_package'],
  'windows_attribution_id',
]
const LISTS_OF_APP = ['extinfo', 'url_schemes']

/** The members of a caller's `app_data` that Snap's library has, in its types. */
function appDataOf({ appData, advertiserTracking }: OutboundEvent): Record<string, unknown> | null {
  const given = (name: string) => (appData && Object.hasOwn(appData, name) ? appData[name] : null)
  const listOf = (value: unknown) => (Array.isArray(value) ? value.map(String) : null)
  const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)
  const members = omitNull({
    advertiser_tracking_enabled: advertiserTracking,
    ...Object.fromEntries(TEXTS_OF_APP.map(name => [name, textOf(given(name))])),
    ...Object.fromEntries(LISTS_OF_APP.map(name => [name, listOf(given(name))])),
  })
  return Object.keys(members).length === 0 ? null : members
}

/** Why Snap would refuse this event, and its whole batch. */
export function validateSnapchatEvent(event: OutboundEvent): SendError | null {
  const message =
    findHeadError(event) ??
    validateRequired(event) ??
    findDigestError(event, [...LISTED_KEYS, 'external_id']) ??
    validateIdentity(event) ??
    findValueError(event.valueAmount, event.valueCurrency)
  return toLocalError(message)
}

function validateRequired(event: OutboundEvent): string | null {
  const { platformName, eventSource } = event
  const name = toSnapchatName(platformName)
  if (name === null) return NO_NAME_MESSAGE
  if (toActionSource(event) === WEB && !eventSource) return 'An event of a website needs its page.'
  const hasValue = event.valueAmount !== null && Boolean(event.valueCurrency)
  return name === 'PURCHASE' && !hasValue ? 'A PURCHASE needs a value and a currency.' : null
}

const NO_NAME_MESSAGE =
  'Snapchat has no event of this name. To send it as another event, name it in the destination.'

function validateIdentity(event: OutboundEvent): string | null {
  return canMatchPerson(event)
    ? null
    : 'The event needs user_data.em or ph, or client_ip_address and client_user_agent.'
}
