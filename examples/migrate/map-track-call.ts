import type { EventSubmission, ValueData } from '@signalbox/sdk'
import { toDecimalText } from './decimal-text.ts'
import { fitAndLog } from './fit-event.ts'
import { countItems, toProductId } from './fit-ids.ts'
import { withoutMissing } from './without-missing.ts'

/**
 * A `track` or `page` call as Segment and RudderStack document it ("Spec: Track", "Spec: E-Commerce
 * Events"). Their libraries add `messageId`, `timestamp` and `context`.
 */
export interface TrackCall {
  type?: 'track' | 'page'
  event?: string
  messageId: string
  timestamp: string
  userId?: string | null
  anonymousId?: string | null
  properties?: Record<string, unknown>
  context?: {
    ip?: string
    userAgent?: string
    page?: { url?: string; referrer?: string; search?: string }
    traits?: Record<string, unknown>
    /** Segment: `{Advertising: true, Analytics: false}`. */
    consent?: { categoryPreferences?: Record<string, boolean> }
    /** RudderStack: the categories that the visitor allowed and denied. */
    consentManagement?: { allowedConsentIds?: string[]; deniedConsentIds?: string[] }
    /** Of an app: whether the device lets it follow the person. */
    device?: { adTrackingEnabled?: boolean }
  }
}

interface MappingOptions {
  /** The traits of the last `identify` call of the user. */
  traits?: Record<string, unknown>
  /** The name of the category for advertising in your consent platform. */
  advertisingCategory: string
  /** Gets a line for each member that the service would refuse and that is left out. */
  log?: (line: string) => void
}

const EVENT_NAMES = new Map([
  ['Product Viewed', 'ViewContent'],
  ['Products Searched', 'Search'],
  ['Product Added', 'AddToCart'],
  ['Product Added to Wishlist', 'AddToWishlist'],
  ['Checkout Started', 'InitiateCheckout'],
  ['Payment Info Entered', 'AddPaymentInfo'],
  ['Order Completed', 'Purchase'],
  ['Signed Up', 'CompleteRegistration'],
])

/** Maps a call to the body of `POST /api/v1/events`. */
export function mapTrackCall(call: TrackCall, options: MappingOptions): EventSubmission {
  return fitAndLog<EventSubmission>(toBody(call, options), options.log)
}

function toBody(call: TrackCall, options: MappingOptions): EventSubmission {
  const context = call.context ?? {}
  const traits = { ...options.traits, ...context.traits }
  const consent = mapConsent(context, options.advertisingCategory)
  const visitorId = call.anonymousId ?? call.userId
  const name = call.event ?? ''
  return {
    event_id: call.messageId,
    event_name: call.type === 'page' ? 'PageView' : (EVENT_NAMES.get(name) ?? name),
    event_time: call.timestamp,
    action_source: 'website',
    consent_basis: 'consent',
    ...(context.page?.url && { event_source: context.page.url }),
    ...(context.page?.referrer && { referrer_url: context.page.referrer }),
    ...(visitorId && { visitor_id: visitorId }),
    ...(consent && { consent }),
    user_data: mapUserData(call, traits),
    value_data: mapProperties(call.properties ?? {}),
  }
}

/**
 * What the call says about the category. A denial in one place wins, and a call that names other
 * categories only is unknown, which grants nothing. Null when the call says nothing about consent:
 * then `consent_basis` is your attestation.
 */
function mapConsent(
  { consent, consentManagement, device }: NonNullable<TrackCall['context']>,
  category: string,
): Record<string, unknown> | null {
  if (device?.adTrackingEnabled === false) return { advertising: 'denied' }
  if (!consent && !consentManagement) return null
  const answers = [
    consent?.categoryPreferences?.[category],
    lists(consentManagement?.deniedConsentIds, category) ? false : undefined,
    lists(consentManagement?.allowedConsentIds, category) ? true : undefined,
  ].filter(answer => answer !== undefined)
  if (answers.includes(false)) return { advertising: 'denied' }
  return { advertising: answers.length > 0 && answers[0] === true ? 'granted' : 'unknown' }
}

/** Not a text that only has the name in it: "uploads" is not the category "ads". */
function lists(ids: unknown, category: string): boolean {
  return Array.isArray(ids) ? ids.includes(category) : ids === category
}

function mapUserData(
  { userId, anonymousId, ...call }: TrackCall,
  traits: Record<string, unknown>,
): Record<string, unknown> {
  const context = call.context ?? {}
  const address = (traits.address ?? {}) as Record<string, unknown>
  return withoutMissing({
    em: traits.email,
    ph: traits.phone,
    fn: traits.firstName,
    ln: traits.lastName,
    ge: traits.gender,
    db: traits.birthday,
    ct: address.city,
    st: address.state,
    zp: address.postalCode,
    country: address.country,
    external_id: userId ?? anonymousId,
    client_ip_address: context.ip,
    client_user_agent: context.userAgent,
  })
}

const MAPPED_PROPERTIES = new Set(
  'order_id revenue total products query category name product_id sku price quantity'.split(' '),
)

/** Properties that have the name of a member of `value_data`. The rest are your own. */
const SAME_NAME = new Set(
  `value currency contents num_items content_type content_ids content_name content_category
  search_string status predicted_ltv net_revenue delivery_category`.split(/\s+/),
)

function mapProperties(properties: Record<string, unknown>): ValueData {
  const products = listProducts(properties)
  const contents = products.map(mapProduct).filter(({ id }) => id !== undefined)
  const amount = properties.revenue ?? properties.total ?? properties.value ?? properties.price
  const rest = Object.entries(properties).filter(([name]) => !MAPPED_PROPERTIES.has(name))
  const own = rest.filter(([name]) => !SAME_NAME.has(name))
  return withoutMissing({
    ...Object.fromEntries(rest.filter(([name]) => SAME_NAME.has(name))),
    value: toDecimalText(amount) ?? amount,
    order_id: properties.order_id,
    ...(contents.length > 0 && { contents }),
    ...(products.length > 0 && { num_items: countItems(products) }),
    ...(properties.name != null && { content_name: properties.name }),
    ...(properties.category != null && { content_category: properties.category }),
    ...(properties.query != null && { search_string: properties.query }),
    custom_properties: own.length === 0 ? undefined : Object.fromEntries(own),
  }) as ValueData
}

type Product = Record<string, unknown>

/** `Order Completed` lists products; `Product Added` is one product itself. */
function listProducts(properties: Record<string, unknown>): Product[] {
  const { products } = properties
  if (Array.isArray(products)) return products.filter(one => typeof one === 'object' && one)
  return toProductId(properties.product_id, properties.sku) === undefined ? [] : [properties]
}

function mapProduct(product: Product): Product {
  return withoutMissing({
    id: toProductId(product.product_id, product.sku),
    quantity: product.quantity ?? 1,
    item_price: product.price,
    title: product.name,
    category: product.category,
    brand: product.brand,
  })
}
