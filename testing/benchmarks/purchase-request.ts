import { createEvents } from '@signalbox/contract/event-batches.ts'
import { BASE_PATH, createEvent } from '@signalbox/contract/operations.ts'
import type { LoadPlan } from './run-load.ts'

export interface RequestTemplate {
  /** A complete HTTP request. */
  bytes: Buffer
  /** Purchases in the request. */
  events: number
  /** Changes the request in place into that of other purchases. */
  renew(count: number): void
}

/** Placeholders of the same length as the values, unique in a request. */
const PLACES = { hex: '<hexhex>', digits: '<digit>' }
const BEARER = 'authorization: Bearer '
const CAPTURED_MILLISECONDS_AGO = 3_600_000

/**
 * Renders a request once, so that the generator only writes a few digits for each purchase, because
 * it shares the CPU with the service that it measures.
 */
export function createRequestTemplate(plan: LoadPlan, variant: number): RequestTemplate {
  const { trackerSecret, trackerSecrets = [trackerSecret], mark, batchEvents } = plan
  const events = batchEvents ?? 1
  const body = createBody(plan, variant)
  const bytes = Buffer.from(
    `${createHead(plan)}user-agent: signalbox-bench\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  const hexOffsets = offsetsOf(bytes, PLACES.hex)
  const digitOffsets = offsetsOf(bytes, PLACES.digits)
  const secretOffset = bytes.indexOf(BEARER) + BEARER.length
  const writeMarks = (offsets: number[], marks: readonly string[]) => {
    const each = offsets.length / events
    for (const [index, offset] of offsets.entries()) {
      bytes.write(marks[Math.floor(index / each)] as string, offset, 'latin1')
    }
  }
  return {
    bytes,
    events,
    renew: count => {
      const marks = Array.from({ length: events }, (_, index) =>
        createPurchaseMarks(count * events + index, mark),
      )
      writeMarks(
        hexOffsets,
        marks.map(({ hex }) => hex),
      )
      writeMarks(
        digitOffsets,
        marks.map(({ digits }) => digits),
      )
      if (trackerSecrets.length === 1) return
      bytes.write(trackerSecrets[count % trackerSecrets.length] as string, secretOffset, 'latin1')
    },
  }
}

/** The head of a request, except what every request has. */
function createHead({ origin, trackerSecret, trackerSecrets, batchEvents, peer }: LoadPlan) {
  if (peer) {
    const { host, pathname, search } = new URL(peer.url)
    const isTyped = peer.headers.some(line => /^content-type:/i.test(line))
    const headers = isTyped ? peer.headers : ['content-type: application/json', ...peer.headers]
    const lines = headers.map(line => `${line}\r\n`).join('')
    return `POST ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\n${lines}`
  }
  const path = batchEvents === undefined ? createEvent.url : createEvents.url
  const host = `host: ${new URL(origin).host}\r\n`
  const credential = `${BEARER}${trackerSecrets?.[0] ?? trackerSecret}\r\n`
  const type = 'content-type: application/json\r\n'
  return `POST ${BASE_PATH}${path} HTTP/1.1\r\n${host}${credential}${type}`
}

/** What `{{id}}` becomes: unique to a request and to the run. */
const ID_PLACE = /\{\{id\}\}/g

function createBody(plan: LoadPlan, variant: number): string {
  const { mark, bodyBytes = 0, batchEvents, peer } = plan
  if (peer?.body != null) return peer.body.replace(ID_PLACE, `${PLACES.hex}-${mark}`)
  const capturedAt = new Date(Date.now() - CAPTURED_MILLISECONDS_AGO)
  const createPurchase = (of: number) =>
    buildPurchaseBody({ ...PLACES, run: mark }, { variant: of, capturedAt })
  if (batchEvents !== undefined) {
    const events = Array.from({ length: batchEvents }, (_, index) =>
      createPurchase(variant + index),
    )
    return JSON.stringify({ events })
  }
  const purchase = createPurchase(variant)
  return bodyBytes > 0 ? filledBody(purchase, bodyBytes) : JSON.stringify(purchase)
}

/** As many small members as fit, because they need the most memory when parsed. */
function filledBody(purchase: Record<string, unknown>, bytes: number): string {
  const member = { a: 1, b: 'two', c: [3] }
  const text = (count: number, rest: string) =>
    JSON.stringify({ ...purchase, filler: Array.from({ length: count }, () => member), rest })
  const available = bytes - text(0, '').length
  const count = Math.floor(available / (JSON.stringify(member).length + 1))
  return text(count, 'x'.repeat(bytes - text(count, '').length))
}

function offsetsOf(bytes: Buffer, place: string): number[] {
  const offsets: number[] = []
  for (let at = bytes.indexOf(place); at >= 0; at = bytes.indexOf(place, at + 1)) offsets.push(at)
  return offsets
}

/** The values that are unique to a purchase: IDs, and the person's email and phone. */
interface PurchaseMarks {
  /** Eight hexadecimal digits, unique in the run. */
  hex: string
  /** Seven decimal digits. */
  digits: string
  /** Twelve hexadecimal digits, common to all purchases of a run. */
  run: string
}

/**
 * A purchase as a shop's server sends it: about 1.2 KB of JSON. Email, phone and external ID are
 * raw, which is the expensive case: the service normalizes and hashes them. Every purchase is a
 * new order of a new visitor. `variant` changes texts, so that bodies differ in more than IDs. The
 * first eight digits of the ID vary most, so IDs are spread over an index, as random IDs are.
 */
export function buildPurchaseBody(
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
    user_data: buildUserData({ hex, digits, run }, variant),
    value_data: buildValueData(hex, variant),
  }
}

function buildUserData({ hex, digits, run }: PurchaseMarks, variant: number) {
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

function buildValueData(hex: string, variant: number) {
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

/** Spreads a counter over all 32-bit numbers; an odd factor keeps the results unique. */
export function createPurchaseMarks(count: number, run: string): PurchaseMarks {
  const spread = Math.imul(count, 0x9e3779b1) >>> 0
  return {
    hex: spread.toString(16).padStart(8, '0'),
    digits: String(count % 10_000_000).padStart(7, '0'),
    run,
  }
}
