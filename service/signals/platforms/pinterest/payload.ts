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
import { findValueError, isDecimal, toMoneyText, toUnixSeconds } from '../units.ts'
import { canMatchPerson } from './normalize-identity.ts'

/** Older events are not taken. No page of Pinterest's says so; other senders use a week. */
export const WINDOW_SECONDS = 7 * DAY_SECONDS

/** The body of `POST /v5/ad_accounts/{id}/events`: no member that Pinterest does not know. */
export function pinterestPayload(events: readonly OutboundEvent[]): Record<string, unknown> {
  return { data: events.map(conversionOf) }
}

function conversionOf(event: OutboundEvent): Record<string, unknown> {
  const customData = customDataOf(event)
  return omitNull({
    event_name: toPinterestName(event.platformName),
    action_source: toActionSource(event),
    event_time: toUnixSeconds(event.eventTime),
    event_id: event.eventId,
    event_source_url: event.eventSource,
    opt_out: isOptedOut(event),
    user_data: userDataOf(event),
    custom_data: Object.keys(customData).length === 0 ? null : customData,
  })
}

/** All names of Pinterest's, with which a destination's map may name an event. */
const PINTEREST_NAMES: ReadonlySet<string> = new Set(
  `add_payment_info add_to_cart add_to_wishlist app_install app_open checkout contact custom
  customize_product find_location initiate_checkout lead page_visit schedule search signup
  start_trial submit_application subscribe view_category view_content watch_video`.split(/\s+/),
)

const REFUND = 'Refund'
const CUSTOM = 'custom'

/** A map, because callers choose the words, and `__proto__` may be one. */
const STANDARD_NAMES: ReadonlyMap<string, string> = new Map([
  ['Purchase', 'checkout'],
  ['AddPaymentInfo', 'add_payment_info'],
  ['AddToCart', 'add_to_cart'],
  ['AddToWishlist', 'add_to_wishlist'],
  ['CompleteRegistration', 'signup'],
  ['Contact', 'contact'],
  ['CustomizeProduct', 'customize_product'],
  ['FindLocation', 'find_location'],
  ['InitiateCheckout', 'initiate_checkout'],
  ['Lead', 'lead'],
  ['PageView', 'page_visit'],
  ['Schedule', 'schedule'],
  ['Search', 'search'],
  ['StartTrial', 'start_trial'],
  ['SubmitApplication', 'submit_application'],
  ['Subscribe', 'subscribe'],
  ['ViewContent', 'view_content'],
])

/** Pinterest keeps no name of a custom event. */
export function toPinterestName(name: string): string {
  return PINTEREST_NAMES.has(name) ? name : (STANDARD_NAMES.get(name) ?? CUSTOM)
}

export const EVENT_NAMES: EventNames = {
  known: [...STANDARD_NAMES.keys(), ...PINTEREST_NAMES],
  read: toPinterestName,
}

const OFFLINE = 'offline'

/** What happened in no browser and no app is offline. Null for an app of an unknown system. */
function toActionSource({ actionSource, appData }: OutboundEvent): string | null {
  if (actionSource === 'website') return 'web'
  if (actionSource !== 'app') return OFFLINE
  const [version] = Array.isArray(appData?.extinfo) ? appData.extinfo : []
  return SYSTEMS.get(version) ?? null
}

/** The first member of `app_data.extinfo` tells the system of the device. */
const SYSTEMS: ReadonlyMap<unknown, string> = new Map([
  ['i2', 'app_ios'],
  ['a2', 'app_android'],
])

/** Pinterest removes copies by `event_id`, and never those of offline events. */
export function isDeduplicated(event: OutboundEvent): boolean {
  return toActionSource(event) !== OFFLINE
}

const HASHED_KEYS = [
  ...['em', 'ph', 'ge', 'db', 'ln', 'fn', 'ct', 'st', 'zp', 'country', 'external_id'],
]
const PLAIN_KEYS = ['client_ip_address', 'client_user_agent', 'click_id']

function userDataOf({ digests, plain }: OutboundEvent): Record<string, unknown> {
  return omitNull(
    Object.fromEntries([
      ...HASHED_KEYS.map(key => [key, digests[key]?.length ? digests[key] : null]),
      ...PLAIN_KEYS.map(key => [key, plain[key] || null]),
    ]),
  )
}

function customDataOf(event: OutboundEvent): Record<string, unknown> {
  const { commerce, contents } = event
  const named = listProductIds(event)
  return omitNull({
    value: toMoney(event.valueAmount),
    currency: event.valueCurrency || null,
    order_id: event.orderId,
    num_items: Number.isSafeInteger(event.numItems) ? event.numItems : null,
    content_ids: named.length === 0 ? null : named,
    contents: contents.length === 0 ? null : contents.map(itemOf),
    content_name: commerce.contentName,
    content_category: commerce.contentCategory,
    search_string: commerce.searchString,
    predicted_ltv: toMoney(commerce.predictedLifetimeValue),
    opt_out_type: isUseLimited(event) ? 'LDP' : null,
  })
}

/** Pinterest takes money as text. */
function toMoney(amount: string | null): string | null {
  return amount !== null && isDecimal(amount) ? toMoneyText(amount) : null
}

function itemOf(item: ContentItem): Record<string, unknown> {
  const { id, name, category, brand, price, quantity } = readOrderItem(item)
  return omitNull({
    id,
    item_name: name,
    item_category: category,
    item_brand: brand,
    item_price: toMoney(price),
    quantity,
  })
}

/** Why Pinterest would refuse this event: some refusals cost the whole batch. */
export function validatePinterestEvent(event: OutboundEvent): SendError | null {
  const message =
    findHeadError(event) ??
    validateRequired(event) ??
    findDigestError(event, HASHED_KEYS) ??
    validateIdentity(event) ??
    findValueError(event.valueAmount, event.valueCurrency)
  return toLocalError(message)
}

function validateRequired(event: OutboundEvent): string | null {
  if (event.platformName === REFUND) {
    return 'Pinterest has no refunds. To send them as another event, name it in the destination.'
  }
  return toActionSource(event) === null
    ? 'An event of an app needs app_data.extinfo, which begins with i2 or a2.'
    : null
}

function validateIdentity(event: OutboundEvent): string | null {
  return canMatchPerson(event)
    ? null
    : 'The event needs user_data.em, or client_ip_address and client_user_agent.'
}
