import type { EventSubmission, ValueData } from '@signalbox/sdk'
import { toDecimalText } from './decimal-text.ts'
import { fitAndLog } from './fit-event.ts'
import { countItems, toProductId } from './fit-ids.ts'
import { withoutMissing } from './without-missing.ts'

/**
 * The event data of a server container of Google Tag Manager, as stape hosts it ("Common event
 * data"). A client of the container makes it from a GA4 request or from stape's Data Tag.
 */
export interface ContainerEvent {
  event_name: string
  /** The ID that the tag of the platform sends, so that the platform counts both once. */
  event_id: string
  client_id?: string
  user_id?: string
  ip_override?: string
  user_agent?: string
  page_location?: string
  page_referrer?: string
  user_data?: {
    email_address?: string
    phone_number?: string
    address?: Record<string, string> | Record<string, string>[]
  }
  /** The cookies of Meta's pixel, under stape's names. */
  'x-fb-ck-fbc'?: string
  'x-fb-ck-fbp'?: string
  transaction_id?: string
  value?: unknown
  currency?: string
  search_term?: string
  items?: Record<string, unknown>[]
  /** Consent Mode v2. */
  consent_state?: Record<string, string>
  /** The states of a GA4 request. `x-ga-gcs` alone lacks `ad_user_data`: it grants nothing. */
  'x-ga-gcs'?: string
  'x-ga-gcd'?: string
  /** 1: no personalized ads. */
  'x-ga-npa'?: string
}

const EVENT_NAMES = new Map([
  ['page_view', 'PageView'],
  ['view_item', 'ViewContent'],
  ['search', 'Search'],
  ['add_to_cart', 'AddToCart'],
  ['add_to_wishlist', 'AddToWishlist'],
  ['begin_checkout', 'InitiateCheckout'],
  ['add_payment_info', 'AddPaymentInfo'],
  ['purchase', 'Purchase'],
  ['sign_up', 'CompleteRegistration'],
  ['generate_lead', 'Lead'],
])

/**
 * Maps the event data of a container to the body of `POST /api/v1/events`. `log` gets a line for
 * each member that the service would refuse and that is left out.
 */
export function mapContainerEvent(
  event: ContainerEvent,
  { log }: { log?: (line: string) => void } = {},
): EventSubmission {
  return fitAndLog<EventSubmission>(toBody(event), log)
}

function toBody(event: ContainerEvent): EventSubmission {
  const given = event.user_data?.address
  const address = (Array.isArray(given) ? given[0] : given) ?? {}
  return {
    event_id: event.event_id,
    event_name: EVENT_NAMES.get(event.event_name) ?? event.event_name,
    action_source: 'website',
    consent_basis: 'consent',
    ...(event.page_location && { event_source: event.page_location }),
    ...(event.page_referrer && { referrer_url: event.page_referrer }),
    ...(event.client_id && { visitor_id: event.client_id }),
    ...mapConsentMode(event),
    user_data: withoutMissing({
      em: event.user_data?.email_address,
      ph: event.user_data?.phone_number,
      fn: address.first_name,
      ln: address.last_name,
      ct: address.city,
      st: address.region,
      zp: address.postal_code,
      country: address.country,
      external_id: event.user_id,
      client_ip_address: event.ip_override,
      client_user_agent: event.user_agent,
    }),
    click_ids: withoutMissing({ fbc: event['x-fb-ck-fbc'], fbp: event['x-fb-ck-fbp'] }),
    value_data: mapValue(event),
  }
}

/** A refusal in one of the places counts. Without any, nothing: `consent_basis` is yours to say. */
function mapConsentMode(event: ContainerEvent): Pick<EventSubmission, 'consent_mode'> {
  const states = withoutMissing({
    ...event.consent_state,
    gcs: event['x-ga-gcs'],
    gcd: event['x-ga-gcd'],
    npa: event['x-ga-npa'],
  })
  return Object.keys(states).length === 0 ? {} : { consent_mode: states }
}

function mapValue(event: ContainerEvent): ValueData {
  const items = Array.isArray(event.items) ? event.items.filter(Boolean) : []
  const contents = items.map(mapItem).filter(({ id }) => id !== undefined)
  return withoutMissing({
    value: toDecimalText(event.value) ?? event.value,
    currency: event.currency,
    order_id: event.transaction_id,
    search_string: event.search_term,
    contents: contents.length === 0 ? undefined : contents,
    num_items: items.length === 0 ? undefined : countItems(items),
  }) as ValueData
}

function mapItem(item: Record<string, unknown>): Record<string, unknown> {
  return withoutMissing({
    id: toProductId(item.item_id, item.item_name),
    quantity: item.quantity ?? 1,
    item_price: item.price,
    title: item.item_name,
    category: item.item_category,
    brand: item.item_brand,
  })
}
