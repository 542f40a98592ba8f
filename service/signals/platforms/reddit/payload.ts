import { omitNull } from '../../../runtime/util/is-object.ts'
import { DAY_SECONDS } from '../../../runtime/util/time.ts'
import type { ContentItem } from '../../events/order-contents.ts'
import { findDigestError, findHeadError, isRestricted, toLocalError } from '../event-checks.ts'
import { readOrderItem } from '../order-items.ts'
import type { EventNames, OutboundEvent, SendError } from '../platform.ts'
import { findValueError, isDecimal, toMoneyNumber, toUnixMilliseconds } from '../units.ts'
import { canMatchPerson } from './normalize-identity.ts'

/** Older events are not taken. */
export const WINDOW_SECONDS = 7 * DAY_SECONDS

/** The body of `POST /api/v3/pixels/{id}/conversion_events`: an unknown member refuses it. */
export function redditPayload(
  events: readonly OutboundEvent[],
  testCode: string | null,
): Record<string, unknown> {
  return { data: omitNull({ events: events.map(conversionOf), test_id: testCode }) }
}

function conversionOf(event: OutboundEvent): Record<string, unknown> {
  const actionSource = ACTION_SOURCES.get(event.actionSource) ?? 'OTHER'
  return omitNull({
    event_at: toUnixMilliseconds(event.eventTime),
    action_source: actionSource,
    // Reddit reads the shop's domain from it, of events on pages only.
    event_source_url: actionSource === 'WEBSITE' ? event.eventSource : null,
    type: toRedditType(event),
    click_id: event.plain.click_id || null,
    metadata: metadataOf(event),
    user: userOf(event),
  })
}

/** All others are `OTHER`: Reddit takes its own words in capitals. */
const ACTION_SOURCES: ReadonlyMap<string, string> = new Map([
  ['website', 'WEBSITE'],
  ['app', 'APP'],
  ['physical_store', 'PHYSICAL_STORE'],
])

const CUSTOM = 'CUSTOM'
const REFUND = 'Refund'

/** A map, because callers choose the words, and `__proto__` may be one. */
const STANDARD_NAMES: ReadonlyMap<string, string> = new Map([
  ['Purchase', 'PURCHASE'],
  ['AddToCart', 'ADD_TO_CART'],
  ['AddToWishlist', 'ADD_TO_WISHLIST'],
  ['CompleteRegistration', 'SIGN_UP'],
  ['Lead', 'LEAD'],
  ['PageView', 'PAGE_VISIT'],
  ['Search', 'SEARCH'],
  ['ViewContent', 'VIEW_CONTENT'],
])

/** With which a destination's map may name an event. */
const TRACKING_TYPES: ReadonlySet<string> = new Set(STANDARD_NAMES.values())

/** An event without a standard name is a custom one, which keeps its name. */
export function toRedditType({
  eventName,
  platformName,
}: Pick<OutboundEvent, 'eventName' | 'platformName'>): {
  tracking_type: string
  custom_event_name?: string
} {
  const name = STANDARD_NAMES.get(platformName) ?? platformName
  if (TRACKING_TYPES.has(name)) return { tracking_type: name }
  return { tracking_type: CUSTOM, custom_event_name: name === CUSTOM ? eventName : name }
}

export const EVENT_NAMES: EventNames = {
  known: [...STANDARD_NAMES.keys(), ...TRACKING_TYPES],
  read: name => STANDARD_NAMES.get(name) ?? name,
}

/** Reddit's table of event metadata, as other senders read it, has them for these types alone. */
const COUNTED_TYPES = new Set(['PURCHASE', 'ADD_TO_CART', 'ADD_TO_WISHLIST', CUSTOM])
const VALUED_TYPES = new Set([...COUNTED_TYPES, 'LEAD', 'SIGN_UP'])

function metadataOf(event: OutboundEvent): Record<string, unknown> {
  const { eventId, valueAmount, valueCurrency, contents, numItems } = event
  const { tracking_type: type } = toRedditType(event)
  // Reddit takes the two together or not at all.
  const value = VALUED_TYPES.has(type) && valueCurrency ? toMoney(valueAmount) : null
  return omitNull({
    conversion_id: eventId,
    value,
    currency: value === null ? null : valueCurrency,
    item_count: COUNTED_TYPES.has(type) && Number.isSafeInteger(numItems) ? numItems : null,
    products: contents.length === 0 ? null : contents.map(productOf),
  })
}

/** Units of the currency. */
function toMoney(amount: string | null): number | null {
  return amount !== null && isDecimal(amount) ? toMoneyNumber(amount) : null
}

function productOf(item: ContentItem): Record<string, unknown> {
  const { id, name, category, price, quantity } = readOrderItem(item)
  return omitNull({ id, name, category, item_price: toMoney(price), quantity })
}

function userOf(event: OutboundEvent): Record<string, unknown> {
  const { digests, plain } = event
  return omitNull({
    email: digests.em?.[0] ?? null,
    phone_number: digests.ph?.[0] ?? null,
    external_id: digests.external_id?.[0] ?? null,
    ip_address: digests.client_ip_address?.[0] ?? (plain.client_ip_address || null),
    user_agent: plain.client_user_agent || null,
    uuid: plain.uuid || null,
    data_processing_options: isRestricted(event) ? LIMITED_DATA_USE : null,
  })
}

/** Other senders report that limited data use needs a country. It limits people anywhere. */
const LIMITED_DATA_USE = { modes: ['LDU'], country: 'US' }

const HASHED_KEYS = ['em', 'ph', 'external_id', 'client_ip_address']
/** Why Reddit would refuse this event and its whole batch. */
export function validateRedditEvent(event: OutboundEvent): SendError | null {
  const message =
    findHeadError(event) ??
    validateRequired(event) ??
    findDigestError(event, HASHED_KEYS) ??
    validateIdentity(event) ??
    findValueError(event.valueAmount, event.valueCurrency)
  return toLocalError(message)
}

/** No source of Reddit's says how many it takes; its simulator takes as many. */
const CUSTOM_NAME_CHARACTERS_MAX = 64

function validateRequired(event: OutboundEvent): string | null {
  if (event.platformName === REFUND) {
    return 'Reddit has no refunds. To send them as another event, name it in the destination.'
  }
  const { custom_event_name: name } = toRedditType(event)
  if (name === '') return 'An event needs a name.'
  return (name?.length ?? 0) > CUSTOM_NAME_CHARACTERS_MAX
    ? 'A custom event of Reddit has a name of at most 64 characters: name it in the destination.'
    : null
}

function validateIdentity(event: OutboundEvent): string | null {
  return canMatchPerson(event)
    ? null
    : 'The event needs an identifier: a click ID, an email address, a phone number, an ' +
        'external_id or client_ip_address.'
}
