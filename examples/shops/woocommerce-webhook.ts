import type { EventSubmission } from '@signalbox/sdk'
import {
  answer,
  findClickId,
  findId,
  isAmount,
  mapLines,
  parseWebhook,
  readEntries,
  readSignedBody,
  requireSecret,
  sendEvents,
  toConsent,
  toEventSource,
  type WebhookOptions,
  withoutEmpty,
} from './order-webhook.ts'

/** The members of a WooCommerce order (REST API v3) that this example reads. */
export interface WooCommerceOrder {
  id: number
  number: string
  status: string
  currency: string
  total: string
  /** UTC without a zone, such as `2026-11-21T11:30:00`; null until the order is paid. */
  date_paid_gmt: string | null
  date_modified_gmt: string
  customer_id: number
  customer_ip_address: string
  customer_user_agent: string
  billing: Record<string, string>
  line_items: {
    /** 0 for a line that is no product of the shop. */
    product_id: number
    variation_id: number
    quantity: number
    price: number
    name: string
  }[]
  refunds: { id: number; reason: string; total: string }[]
  meta_data: { key: string; value: unknown }[]
}

const TOPICS = new Set(['order.created', 'order.updated', 'order.restored'])

/**
 * A webhook of WooCommerce with the topics "Order created" and "Order updated": a paid order
 * becomes a Purchase and each of its refunds a Refund. Every delivery has the whole order, so all
 * events are sent again each time; the service knows them by their ids.
 */
export function createWooCommerceWebhook(options: WebhookOptions) {
  requireSecret(options.secret)
  return async (request: Request): Promise<Response> => {
    // WooCommerce checks the address of a new webhook with a form that has no signature.
    if (!request.headers.has('x-wc-webhook-topic')) return answer(200, 'Nothing to do.')
    const header = 'X-WC-Webhook-Signature'
    const signed = await readSignedBody(request, { header, secret: options.secret })
    if ('response' in signed) return signed.response
    if (!TOPICS.has(request.headers.get('x-wc-webhook-topic') ?? '')) {
      return answer(200, 'Nothing to do.')
    }
    const shopUrl = request.headers.get('x-wc-webhook-source') ?? undefined
    const order = parseWebhook<WooCommerceOrder>(signed.text)
    if (order === null) return answer(400, 'The body is not a JSON object.')
    const events = mapWooCommerceOrder(order, shopUrl, options.log)
    return sendEvents(events, options)
  }
}

/**
 * The events of an order. None before it is paid, and none if the customer refused advertising.
 * `log` gets a line for what an event cannot have.
 */
export function mapWooCommerceOrder(
  order: WooCommerceOrder,
  shopUrl?: string,
  log: WebhookOptions['log'] = console.warn,
): EventSubmission[] {
  const { date_paid_gmt, currency } = order
  const meta = (key: string) => {
    const value = readEntries(order.meta_data).find(entry => entry.key === key)?.value
    return typeof value === 'string' && value !== '' ? value : null
  }
  const consent = toConsent({
    choice: meta('_signalbox_consent'),
    capturedAt: meta('_signalbox_consent_at'),
  })
  if (!date_paid_gmt || consent === null) return []
  const orderId = findId(order.id)
  if (orderId === null) {
    log('An order without an ID was not sent.')
    return []
  }
  const number = findId(order.number)
  const order_id = number === null ? {} : { order_id: number }
  const person = {
    consent_basis: 'consent' as const,
    consent,
    user_data: mapCustomer(order, { fbp: meta('_signalbox_fbp'), fbc: meta('_signalbox_fbc') }),
    ...toEventSource(shopUrl),
  }
  const purchaseId = `woocommerce-order-${orderId}`
  const purchase = {
    ...person,
    event_id: purchaseId,
    event_name: 'Purchase',
    event_time: `${date_paid_gmt}Z`,
    click_ids: findClickId(meta('_wc_order_attribution_session_entry')),
    value_data: {
      value: order.total,
      currency,
      ...order_id,
      ...mapLines(readEntries(order.line_items).map(mapLine), text =>
        log(`${purchaseId}: ${text}.`),
      ),
    },
  }
  const refunds = readEntries(order.refunds).flatMap(({ id, total }) => {
    const refundId = findId(id)
    if (refundId === null || !isAmount(total)) {
      log(`${purchaseId}: a refund without an ID or with an amount that is no number was not sent.`)
      return []
    }
    return {
      ...person,
      event_id: `woocommerce-refund-${refundId}`,
      event_name: 'Refund',
      parent_event_id: purchaseId,
      // The order does not say when; its last change is the refund or later.
      event_time: `${order.date_modified_gmt}Z`,
      // Negative, as WooCommerce has it: the sum over both events is what the shop keeps.
      value_data: { value: total, currency, ...order_id },
    }
  })
  return [purchase, ...refunds]
}

function mapCustomer(
  { billing: given, customer_id, customer_ip_address, customer_user_agent }: WooCommerceOrder,
  cookies: Record<string, string | null>,
): Record<string, unknown> {
  const billing = given ?? {}
  return withoutEmpty<unknown>({
    em: billing.email,
    ph: billing.phone,
    fn: billing.first_name,
    ln: billing.last_name,
    ct: billing.city,
    st: billing.state,
    zp: billing.postcode,
    country: billing.country,
    // 0 is a guest.
    external_id: findId(customer_id),
    client_ip_address: customer_ip_address,
    client_user_agent: customer_user_agent,
    ...cookies,
  })
}

function mapLine({ product_id, variation_id, quantity, price }: WooCommerceOrder['line_items'][0]) {
  return { id: findId(variation_id, product_id), quantity, item_price: price }
}
