/** Where a purchase carries what is its own: ids, and the person's address and number. */
export interface PurchaseMarks {
  /** Eight hexadecimal digits, unlike those of any other purchase of the run. */
  hex: string
  /** Seven decimal digits. */
  digits: string
  /** Twelve hexadecimal digits that all purchases of one run share. */
  run: string
}

/**
 * A purchase as a shop's server sends it: about 1.2 KB of JSON. E-mail, phone and external id are
 * raw, which is the dear case: the service normalises and hashes them. Every purchase is another
 * order of another visitor. `variant` changes the words, so that bodies differ in more than ids.
 * The first eight digits of the id differ most, so ids fall all over an index, as random ids do.
 */
export function purchaseBody(
  { hex, digits, run }: PurchaseMarks,
  { variant, capturedAt }: { variant: number; capturedAt: Date },
): Record<string, unknown> {
  return {
    event_id: `${hex}-${run.slice(0, 4)}-4${run.slice(4, 7)}-8${run.slice(7, 10)}-${run}`,
    event_name: 'Purchase',
    action_source: 'website',
    event_source: `https://shop.example/checkout/thank-you?order=${hex}&utm_source=newsletter`,
    visitor_id: `v-${hex}-${run}`,
    consent_basis: 'consent',
    consent: {
      ad_user_data: 'granted',
      ad_personalization: 'granted',
      ad_storage: 'granted',
      analytics_storage: 'granted',
      captured_at: capturedAt.toISOString(),
    },
    user_data: buyer({ hex, digits, run }, variant),
    value_data: basket(hex, variant),
  }
}

function buyer({ hex, digits, run }: PurchaseMarks, variant: number) {
  return {
    em: `${NAMES[variant % NAMES.length]}.${hex}@mail.example.com`,
    ph: `+49 1512 ${digits}`,
    external_id: `customer-${hex}`,
    country: 'de',
    client_ip_address: `93.184.${variant % 256}.34`,
    client_user_agent:
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 ' +
      '(KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
    fbp: `fb.1.1763${digits}00.${digits}42`,
    fbc: `fb.1.1763${digits}00.PAZXh0bgNhZW0BMABhZGlkAasf${hex}${run}Kx7W_aem_m3Pq`,
  }
}

function basket(hex: string, variant: number) {
  const product = PRODUCTS[variant % PRODUCTS.length]
  return {
    value: `${100 + (variant % 900)}.95`,
    currency: 'EUR',
    order_id: `ORD-${hex}`,
    num_items: 4,
    contents: [
      { id: `SKU-${variant}-1`, title: `${product}, large`, quantity: 2, item_price: '29.95' },
      { id: `SKU-${variant}-2`, title: `${product}, small`, quantity: 1, item_price: '19.95' },
      { id: `SKU-${variant}-3`, title: 'Gift wrapping', quantity: 1, item_price: '4.95' },
    ],
  }
}

const NAMES = ['jane.doe', 'Max.Muster', 'ines', 'o.neill', 'Sofia.Rossi', 'li.wei', 'a.kowalska']
const PRODUCTS = ['Linen shirt', 'Walnut desk lamp', 'Trail running shoes', 'Cast iron pan', 'Mug']

/** Spreads a counter over all 32-bit numbers; an odd factor gives every count its own. */
export function marksOf(count: number, run: string): PurchaseMarks {
  const spread = Math.imul(count, 0x9e3779b1) >>> 0
  return {
    hex: spread.toString(16).padStart(8, '0'),
    digits: String(count % 10_000_000).padStart(7, '0'),
    run,
  }
}
