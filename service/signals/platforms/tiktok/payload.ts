import { omitNull } from '../../../runtime/util/is-object.ts'
import type { ContentItem } from '../../events/order-contents.ts'
import { findDigestError, findHeadError, isRestricted, toLocalError } from '../event-checks.ts'
import { listProductIds, readOrderItem } from '../order-items.ts'
import type { EventNames, OutboundEvent, SendError } from '../platform.ts'
import { toSendError } from '../send-answer.ts'
import { findValueError, isDecimal, toMoneyNumber, toUnixSeconds } from '../units.ts'

/** Where TikTok receives events. */
export interface TiktokTarget {
  pixelCode: string
  /** Null: events that happen in no browser are not sent. */
  offlineEventSetId: string | null
}

/** What a request is about: the events of one request have one source. */
export interface TiktokRequest {
  target: TiktokTarget
  /** Null for live events. */
  testCode: string | null
}

type EventSource = 'web' | 'offline'

/** Apps need a place on TikTok's allow list, and identifiers of devices. */
const APP = 'app'

export function sourceOf({ actionSource }: Pick<OutboundEvent, 'actionSource'>): EventSource {
  return actionSource === 'website' ? 'web' : 'offline'
}

/** The body of `POST /open_api/{version}/event/track/` for events of one source. */
export function tiktokPayload(
  events: readonly OutboundEvent[],
  { target, testCode }: TiktokRequest,
): Record<string, unknown> {
  const [first] = events
  const source = first && sourceOf(first) === 'offline' ? 'offline' : 'web'
  const isOffline = source === 'offline' && target.offlineEventSetId !== null
  const data = events.map(event => eventOf(event, { isOffline, isTest: testCode !== null }))
  return omitNull({
    event_source: isOffline ? 'offline' : 'web',
    event_source_id: isOffline ? target.offlineEventSetId : target.pixelCode,
    test_event_code: testCode,
    data,
  })
}

interface EventForm {
  isOffline: boolean
  isTest: boolean
}

/** A test purchase happens on no page, and TikTok wants one for its pixel. */
const TEST_PAGE = 'https://signalbox.invalid/test'

function eventOf(event: OutboundEvent, { isOffline, isTest }: EventForm): Record<string, unknown> {
  const url = event.eventSource ?? (isTest ? TEST_PAGE : null)
  return omitNull({
    event: toTiktokName(event.platformName),
    event_time: toUnixSeconds(event.eventTime),
    event_id: event.eventId,
    user: userOf(event, isOffline),
    properties: propertiesOf(event),
    page: isOffline || url === null ? null : omitNull({ url, referrer: event.referrer || null }),
    limited_data_use: !isOffline && !isTest && isRestricted(event) ? true : null,
  })
}

/** Current names, and the older ones, which TikTok turns into them (`docs/guides/tiktok.md`). */
const TIKTOK_NAMES: ReadonlySet<string> = new Set(
  `AddPaymentInfo AddToCart AddToWishlist ApplicationApproval CompleteRegistration Contact
  CustomizeProduct Download FindLocation InitiateCheckout Lead Purchase Schedule Search StartTrial
  SubmitApplication Subscribe ViewContent ClickButton CompletePayment PlaceAnOrder
  SubmitForm`.split(/\s+/),
)

const REFUND = 'Refund'

/** Signalbox's names are TikTok's, with one exception. */
export function toTiktokName(name: string): string {
  return name === 'PageView' ? 'Pageview' : name
}

/** Names that TikTok turns into others, and how PageView is written. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['PageView', 'Pageview'],
  ['CompletePayment', 'Purchase'],
  ['SubmitForm', 'Lead'],
])

export const EVENT_NAMES: EventNames = {
  known: [...RENAMED.keys(), ...RENAMED.values()],
  read: name => RENAMED.get(name) ?? name,
}

/** TikTok's name -> ours. */
const HASHED_LISTS = { email: 'em', phone: 'ph' }
const HASHED = { external_id: 'external_id', first_name: 'fn', last_name: 'ln', zip_code: 'zp' }
const BROWSER = { ttclid: 'ttclid', ttp: 'ttp', ip: 'client_ip_address' }

/** Identifiers of a browser are refused for events that happened in none. */
function userOf({ digests, plain }: OutboundEvent, isOffline: boolean): Record<string, unknown> {
  const pick = (names: object, find: (key: string) => unknown) =>
    Object.entries(names).map(([name, key]) => [name, find(key) || null])
  return omitNull(
    Object.fromEntries([
      ...pick(HASHED_LISTS, key => (digests[key]?.length ? digests[key] : null)),
      ...pick(HASHED, key => digests[key]?.[0]),
      ...(isOffline
        ? []
        : pick({ ...BROWSER, user_agent: 'client_user_agent' }, key => plain[key])),
    ]),
  )
}

function propertiesOf(event: OutboundEvent): Record<string, unknown> {
  const { commerce, contents } = event
  const ids = listProductIds(event)
  const contentType = ids.length === 0 ? null : contentTypeOf(commerce.contentTypes)
  return {
    ...selectCustomProperties(commerce.customProperties),
    ...omitNull({
      value: toMoney(event.valueAmount),
      currency: event.valueCurrency?.toUpperCase() || null,
      order_id: event.orderId || null,
      num_items: Number.isSafeInteger(event.numItems) ? event.numItems : null,
      content_type: contentType,
      content_ids: ids.length === 0 ? null : ids,
      contents: contents.length === 0 ? null : contents.map(item => itemOf(item, contentType)),
      content_name: commerce.contentName || null,
      content_category: commerce.contentCategory || null,
      query: commerce.searchString || null,
      search_string: commerce.searchString || null,
      predicted_ltv: toAmount(commerce.predictedLifetimeValue),
    }),
  }
}

function toMoney(amount: string | null): number | null {
  return amount !== null && isDecimal(amount) ? toMoneyNumber(amount) : null
}

/** Null for an amount below zero, such as that of a discount, which would refuse the event. */
function toAmount(amount: string | null): number | null {
  return amount?.startsWith('-') ? null : toMoney(amount)
}

/** What the IDs name; TikTok's own template takes products where the shop does not say. */
function contentTypeOf(types: readonly string[]): string {
  return types.length === 1 && types[0] === 'product_group' ? 'product_group' : 'product'
}

function itemOf(item: ContentItem, contentType: string | null): Record<string, unknown> {
  const { id, name, category, brand, price, quantity } = readOrderItem(item)
  return omitNull({
    content_id: id,
    content_type: contentType,
    content_name: name,
    content_category: category,
    brand,
    price: toAmount(price),
    quantity,
  })
}

const PROPERTY_NAME = /^[A-Za-z]\w{0,49}$/
/** Names of TikTok's own, whose types a caller does not know. */
const OWN_PROPERTIES = new Set(
  `value currency order_id num_items content_type content_id content_ids contents content_name
  content_category query search_string predicted_ltv description shop_id delivery_category status
  quantity price brand event_trigger_source gtm_version`.split(/\s+/),
)

/** TikTok takes properties of the sender's own: those that are no lists and no objects. */
function selectCustomProperties(properties: Record<string, unknown>): Record<string, unknown> {
  const isTaken = ([name, value]: [string, unknown]) =>
    PROPERTY_NAME.test(name) &&
    !OWN_PROPERTIES.has(name.toLowerCase()) &&
    ['string', 'number', 'boolean'].includes(typeof value)
  return Object.fromEntries(Object.entries(properties).filter(isTaken))
}

const HASHED_KEYS = [...Object.values(HASHED_LISTS), ...Object.values(HASHED)]
const CUSTOM_NAME = /^[A-Za-z][\w-]{0,49}$/

/** Why TikTok would refuse this event, and its whole request. */
export function validateTiktokEvent(event: OutboundEvent): SendError | null {
  const message =
    findHeadError(event) ??
    findSourceError(event) ??
    findNameError(event) ??
    findDigestError(event, HASHED_KEYS) ??
    findValueError(event.valueAmount, event.valueCurrency) ??
    (event.valueAmount?.startsWith('-') ? 'TikTok takes no negative value.' : null)
  return toLocalError(message)
}

function findSourceError({ actionSource }: OutboundEvent): string | null {
  return actionSource === APP
    ? 'TikTok takes events of apps from senders on its allow list only: they are not sent.'
    : null
}

function findNameError(event: OutboundEvent): string | null {
  const name = toTiktokName(event.platformName)
  if (name === REFUND) {
    return 'TikTok has no refunds. To send them as another event, name it in the destination.'
  }
  if (TIKTOK_NAMES.has(name)) return null
  if (sourceOf(event) === 'offline') {
    return 'Offline, TikTok takes standard events only: name one in the destination.'
  }
  return CUSTOM_NAME.test(name)
    ? null
    : 'A custom event of TikTok has at most 50 letters, digits, _ and -, and a letter first.'
}

/** Why this destination cannot send a valid event; null if it can. */
export function findTargetError(
  event: OutboundEvent,
  { target, testCode }: TiktokRequest,
): SendError | null {
  const message = testCode === null ? findLiveError(event, target) : null
  return message === null ? null : toSendError('local', { message })
}

function findLiveError(event: OutboundEvent, target: TiktokTarget): string | null {
  const isLimitedUse = isRestricted(event)
  if (sourceOf(event) === 'offline') {
    if (target.offlineEventSetId === null) {
      return 'The destination has no offline event set, and this event happened in no browser.'
    }
    return isLimitedUse
      ? 'TikTok cannot limit the use of an offline event, which this event asks for.'
      : null
  }
  if (!event.eventSource) return 'TikTok needs the address of the page: send event_source.'
  return isLimitedUse && !event.plain.client_ip_address
    ? 'To limit the use of an event, TikTok needs user_data.client_ip_address.'
    : null
}
