import type { EventSubmission, ValueData } from '@signalbox/sdk'
import { toDecimalText } from './decimal-text.ts'
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
  }
}

interface MappingOptions {
  /** The traits of the last `identify` call of the user. */
  traits?: Record<string, unknown>
  /** The name of the category for advertising in your consent platform. */
  advertisingCategory: string
}

const EVENT_NAMES: Record<string, string> = {
  'Product Viewed': 'ViewContent',
  'Products Searched': 'Search',
  'Product Added': 'AddToCart',
  'Product Added to Wishlist': 'AddToWishlist',
  'Checkout Started': 'InitiateCheckout',
  'Payment Info Entered': 'AddPaymentInfo',
  'Order Completed': 'Purchase',
  'Signed Up': 'CompleteRegistration',
}

/** Maps a call to the body of `POST /api/v1/events`. */
export function mapTrackCall(call: TrackCall, options: MappingOptions): EventSubmission {
  const { context = {}, properties = {} } = call
  const traits = { ...options.traits, ...context.traits }
  const consent = mapConsent(context, options.advertisingCategory)
  const visitorId = call.anonymousId ?? call.userId
  return {
    event_id: call.messageId,
    event_name:
      call.type === 'page' ? 'PageView' : (EVENT_NAMES[call.event ?? ''] ?? call.event ?? ''),
    event_time: call.timestamp,
    action_source: 'website',
    consent_basis: 'consent',
    ...(context.page?.url && { event_source: context.page.url }),
    ...(context.page?.referrer && { referrer_url: context.page.referrer }),
    ...(visitorId && { visitor_id: visitorId }),
    ...(consent && { consent }),
    user_data: mapUserData(call, traits),
    value_data: mapProperties(properties),
  }
}

/** Null when the call says nothing about the category. */
function mapConsent(
  { consent, consentManagement }: NonNullable<TrackCall['context']>,
  category: string,
): Record<string, unknown> | null {
  const isAllowed =
    consent?.categoryPreferences?.[category] ??
    (consentManagement?.deniedConsentIds?.includes(category) ? false : undefined) ??
    (consentManagement?.allowedConsentIds?.includes(category) ? true : undefined)
  return isAllowed === undefined ? null : { advertising: isAllowed ? 'granted' : 'denied' }
}

function mapUserData(
  { userId, anonymousId, context = {} }: TrackCall,
  traits: Record<string, unknown>,
): Record<string, unknown> {
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
  `order_id revenue total value currency products query category name product_id sku price quantity
  predicted_ltv`.split(/\s+/),
)

function mapProperties(properties: Record<string, unknown>): ValueData {
  const products = listProducts(properties)
  const amount = properties.revenue ?? properties.total ?? properties.value ?? properties.price
  const rest = Object.entries(properties).filter(([name]) => !MAPPED_PROPERTIES.has(name))
  return withoutMissing({
    value: toDecimalText(amount),
    currency: properties.currency as string,
    order_id: properties.order_id === undefined ? undefined : String(properties.order_id),
    contents: products.length === 0 ? undefined : products.map(mapProduct),
    num_items: products.length === 0 ? undefined : countItems(products),
    content_name: properties.name as string,
    content_category: properties.category as string,
    search_string: properties.query as string,
    predicted_ltv: toDecimalText(properties.predicted_ltv),
    custom_properties: rest.length === 0 ? undefined : Object.fromEntries(rest),
  }) as ValueData
}

type Product = Record<string, unknown>

/** `Order Completed` lists products; `Product Added` is one product itself. */
function listProducts(properties: Record<string, unknown>): Product[] {
  if (Array.isArray(properties.products)) return properties.products
  return properties.product_id === undefined && properties.sku === undefined ? [] : [properties]
}

function mapProduct(product: Product): Product {
  return withoutMissing({
    id: String(product.product_id ?? product.sku),
    quantity: product.quantity ?? 1,
    item_price: product.price,
    title: product.name,
    category: product.category,
    brand: product.brand,
  })
}

function countItems(products: readonly Product[]): number {
  return products.reduce((count, { quantity }) => count + Number(quantity ?? 1), 0)
}
