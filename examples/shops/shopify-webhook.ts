import { type EventSubmission, hash, SignalboxError } from '@signalbox/sdk'
import {
  addAmounts,
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

/** The members of a Shopify order (webhooks `orders/*`) that this example reads. */
export interface ShopifyOrder {
  id: number
  order_number: number
  /** An order of a test payment. */
  test: boolean
  financial_status: string
  source_name: string
  processed_at: string
  currency: string
  total_price: string
  email: string | null
  phone: string | null
  landing_site: string | null
  customer: { id: number } | null
  billing_address: ShopifyAddress | null
  shipping_address: ShopifyAddress | null
  client_details: { browser_ip: string | null; user_agent: string | null } | null
  note_attributes: { name: string; value: string }[]
  line_items: {
    product_id: number | null
    variant_id: number | null
    quantity: number
    price: string
  }[]
  refunds: {
    id: number
    processed_at: string
    transactions: { kind: string; status: string; amount: string; currency: string }[]
  }[]
}

type ShopifyAddress = Partial<
  Record<
    'first_name' | 'last_name' | 'city' | 'province_code' | 'zip' | 'country_code' | 'phone',
    string | null
  >
>

/** `customers/redact`: the shop must erase a person. */
interface ShopifyRedaction {
  customer: { id: number; email: string | null; phone: string | null } | null
}

const ORDER_TOPICS = new Set(['orders/paid', 'orders/updated'])
const PAID = new Set(['paid', 'partially_refunded', 'refunded'])

/**
 * A webhook of Shopify for `orders/paid`, `orders/updated` and `customers/redact`: a paid order
 * becomes a Purchase, each of its refunds a Refund, and a person who asks for it is erased.
 */
export function createShopifyWebhook(options: WebhookOptions) {
  requireSecret(options.secret)
  return async (request: Request): Promise<Response> => {
    const header = 'X-Shopify-Hmac-Sha256'
    const signed = await readSignedBody(request, { header, secret: options.secret })
    if ('response' in signed) return signed.response
    const topic = request.headers.get('x-shopify-topic') ?? ''
    const isRedaction = topic === 'customers/redact'
    if (!isRedaction && !ORDER_TOPICS.has(topic)) return answer(200, 'Nothing to do.')
    const body = parseWebhook<ShopifyOrder & ShopifyRedaction>(signed.text)
    if (body === null) return answer(400, 'The body is not a JSON object.')
    if (isRedaction) return eraseCustomer(body, options)
    const domain = request.headers.get('x-shopify-shop-domain')
    const shopUrl = domain ? `https://${domain}/` : undefined
    return sendEvents(mapShopifyOrder(body, shopUrl, options.log), options)
  }
}

/**
 * The events of an order. None before it is paid, and none if the customer refused advertising.
 * `log` gets a line for what an event cannot have.
 */
export function mapShopifyOrder(
  order: ShopifyOrder,
  shopUrl?: string,
  log: WebhookOptions['log'] = console.warn,
): EventSubmission[] {
  const note = (name: string) =>
    readEntries(order.note_attributes).find(attribute => attribute.name === name)?.value || null
  const consent = toConsent({
    choice: note('signalbox_consent'),
    capturedAt: note('signalbox_consent_at'),
  })
  const isPaid = PAID.has(order.financial_status)
  if (!isPaid || order.test || consent === null) return []
  const orderId = findId(order.id)
  if (orderId === null) {
    log('An order without an ID was not sent.')
    return []
  }
  const person = {
    consent_basis: 'consent' as const,
    consent,
    action_source: order.source_name === 'pos' ? 'physical_store' : 'website',
    user_data: mapCustomer(order, { fbp: note('signalbox_fbp'), fbc: note('signalbox_fbc') }),
    ...toEventSource(shopUrl),
  }
  const number = findId(order.order_number)
  const order_id = number === null ? {} : { order_id: number }
  const purchaseId = `shopify-order-${orderId}`
  const purchase = {
    ...person,
    event_id: purchaseId,
    event_name: 'Purchase',
    event_time: order.processed_at,
    click_ids: findClickId(order.landing_site),
    value_data: {
      value: order.total_price,
      currency: order.currency,
      ...order_id,
      ...mapLines(readEntries(order.line_items).map(mapLine), text =>
        log(`${purchaseId}: ${text}.`),
      ),
    },
  }
  const refunds = readEntries(order.refunds).flatMap(refund => {
    const paidBack = readEntries(refund.transactions).filter(
      ({ kind, status }) => kind === 'refund' && status === 'success',
    )
    const refundId = findId(refund.id)
    const amounts = paidBack.map(({ amount }) => amount)
    if (refundId === null || !amounts.every(isAmount)) {
      log(`${purchaseId}: a refund without an ID or with an amount that is no number was not sent.`)
      return []
    }
    const sum = addAmounts(amounts)
    const [first] = paidBack
    // Items that were only put back into stock have no money in them.
    if (!first || /^[0.]+$/.test(sum)) return []
    return {
      ...person,
      event_id: `shopify-refund-${refundId}`,
      event_name: 'Refund',
      parent_event_id: purchaseId,
      event_time: refund.processed_at,
      // Negative: the sum over both events is what the shop keeps. A payment may be in the currency
      // of the customer instead of that of the shop.
      value_data: { value: `-${sum}`, currency: first.currency, ...order_id },
    }
  })
  return [purchase, ...refunds]
}

function mapCustomer(
  order: ShopifyOrder,
  cookies: Record<string, string | null>,
): Record<string, unknown> {
  const { client_details: client, customer } = order
  const address = order.billing_address ?? order.shipping_address ?? {}
  return withoutEmpty<unknown>({
    em: order.email,
    ph: order.phone ?? address.phone,
    fn: address.first_name,
    ln: address.last_name,
    ct: address.city,
    st: address.province_code,
    zp: address.zip,
    country: address.country_code,
    external_id: findId(customer?.id),
    client_ip_address: client?.browser_ip,
    client_user_agent: client?.user_agent,
    ...cookies,
  })
}

function mapLine({ product_id, variant_id, quantity, price }: ShopifyOrder['line_items'][0]) {
  // A number, as the platform documents it. Only `value` counts as money.
  const id = findId(variant_id, product_id)
  return { id, quantity, item_price: price }
}

/** Erases by every identifier that an event of the customer may have had. */
async function eraseCustomer(
  { customer }: ShopifyRedaction,
  { signalbox, log = console.error }: WebhookOptions,
): Promise<Response> {
  const { email, phone } = customer ?? {}
  const id = findId(customer?.id)
  const digests = [
    ['email', typeof email === 'string' && (await hash.email(email))],
    ['phone', typeof phone === 'string' && (await hash.phone(phone))],
    ['external_id', id && (await hash.externalId(id))],
  ] as const
  try {
    for (const [identifier_type, identifier_hash] of digests) {
      if (identifier_hash) await signalbox.userData.delete({ identifier_hash, identifier_type })
    }
    return answer(200, 'Erased.')
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error
    log(`The erasure of customer ${id} failed: ${error.type}.`)
    return answer(503, 'Try again later.')
  }
}
