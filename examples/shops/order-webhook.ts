import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  AuthenticationError,
  type EventSubmission,
  type Signalbox,
  SignalboxError,
  UnprocessableEntityError,
} from '@signalbox/sdk'

/** An order with hundreds of lines is far below this. */
const BODY_BYTES_MAX = 2 * 1_048_576

export interface WebhookOptions {
  signalbox: Signalbox
  /** What the shop system signs its requests with. Empty text is refused. */
  secret: string
  /** One line for your log, without personal data. */
  log?: (line: string) => void
}

/**
 * A variable of the environment without which the program must not start. Throws an error that
 * names it, also when it is blank.
 */
export function requireVariable(name: string): string {
  const value = process.env[name]
  if (value !== undefined && value.trim() !== '') return value
  throw new Error(`Set ${name}: without it this program does not start.`)
}

/** Anyone can sign with the empty secret, so a webhook without one would take forged requests. */
export function requireSecret(secret: unknown): void {
  if (typeof secret === 'string' && secret.trim() !== '') return
  throw new Error('The secret of the webhook is missing: anyone could forge its requests.')
}

/** The body of a signed request, or the response to one that cannot be used. */
export type SignedBody = { text: string } | { response: Response }

/**
 * Reads the raw body and compares its HMAC-SHA256, in Base64, with the header. Parse the text only
 * afterwards: a body that was parsed and written again has another digest.
 */
export async function readSignedBody(
  request: Request,
  { header, secret }: { header: string; secret: string },
): Promise<SignedBody> {
  requireSecret(secret)
  const bytes = await readBytes(request)
  if (bytes === null) return { response: answer(413, 'The body is too large.') }
  const expected = createHmac('sha256', secret).update(bytes).digest()
  const given = Buffer.from(request.headers.get(header) ?? '', 'base64')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    return { response: answer(401, `${header} does not match the body.`) }
  }
  return { text: bytes.toString('utf8') }
}

async function readBytes(request: Request): Promise<Buffer | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > BODY_BYTES_MAX) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * Sends the events of an order. Both shop systems count other answers than 2xx as failures and turn
 * a webhook off after some, so an event that the service refuses is logged and answered with 200.
 * What may work later is answered with 503: Shopify repeats it.
 */
export async function sendEvents(
  events: readonly EventSubmission[],
  { signalbox, log = console.error }: WebhookOptions,
): Promise<Response> {
  for (const event of events) {
    try {
      // Below the 5 seconds that Shopify waits.
      await signalbox.events.create(event, { timeout: 2_000, totalTimeout: 4_000 })
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error
      if (error instanceof UnprocessableEntityError) {
        log(`${event.event_id} was refused: ${Object.keys(error.errors).join(', ')}`)
        continue
      }
      const hint = error instanceof AuthenticationError ? ' Check SIGNALBOX_TOKEN.' : ''
      log(`${event.event_id} was not sent: ${error.type}.${hint}`)
      return answer(503, 'Try again later.')
    }
  }
  return answer(200, `${events.length} events`)
}

export function answer(status: number, text: string): Response {
  return new Response(`${text}\n`, { status })
}

/** What the shop noted at checkout about advertising. */
export interface NotedConsent {
  /** `granted` or `denied`; null when the order says nothing. */
  choice: string | null
  /** When, as ISO 8601. */
  capturedAt: string | null
}

/**
 * The `consent` of an event. Null when the customer refused: then there is no event to send. An
 * order that says nothing is stored and not delivered, because an unknown choice grants nothing.
 */
export function toConsent({ choice, capturedAt }: NotedConsent): Record<string, string> | null {
  if (choice === 'denied') return null
  return {
    advertising: choice ?? 'unknown',
    method: 'checkout',
    ...(capturedAt && { captured_at: capturedAt }),
  }
}

/** A line of an order. */
export interface OrderLine {
  /** Null for what is no product, such as a custom line or a tip. */
  id: string | null
  quantity: unknown
  item_price: unknown
}

const CONTENTS_MAX = 50
const NUMBER = /^-?\d{1,15}(\.\d{1,6})?$/

/**
 * The members of `value_data` that name products. What the service would refuse is left out and
 * noted, because an order is worth more than its lines.
 */
export function mapLines(lines: readonly OrderLine[], note: (text: string) => void) {
  const products = lines.filter(({ id }) => id !== null)
  const count = lines.reduce((sum, { quantity }) => sum + (toNumber(quantity) ?? Number.NaN), 0)
  const isWhole = Number.isSafeInteger(count)
  if (products.length < lines.length) note('lines without a product are not in contents')
  if (products.length > CONTENTS_MAX) note(`only the first ${CONTENTS_MAX} lines are in contents`)
  if (!isWhole) note('num_items is left out, because a quantity is no whole number')
  const contents = products.slice(0, CONTENTS_MAX).map(({ id, ...numbers }) => {
    const quantity = toNumber(numbers.quantity)
    const item_price = toNumber(numbers.item_price)
    if (quantity === undefined) note('a quantity is left out, because it is no number')
    if (item_price === undefined) note('a price of a line is left out, because it is no number')
    return {
      id,
      ...(quantity !== undefined && { quantity }),
      ...(item_price !== undefined && { item_price }),
    }
  })
  return { ...(contents.length > 0 && { contents }), ...(isWhole && { num_items: count }) }
}

/** Undefined for what is no number, such as null, empty text and "1.234,56". */
function toNumber(value: unknown): number | undefined {
  const isNumber = typeof value === 'number' || typeof value === 'string'
  return isNumber && NUMBER.test(String(value)) ? Number(value) : undefined
}

/** The entries of a list that are objects; none for what is no list. */
export function readEntries<Entry extends object>(
  list: readonly Entry[] | null | undefined,
): Entry[] {
  if (!Array.isArray(list)) return []
  return list.filter(entry => typeof entry === 'object' && entry !== null)
}

/** What shops and their plug-ins give to what has no ID, as a number or as text. */
const NO_ID = /^(|0|null|undefined|nan|none|\[object object\]|\{\{.*\}\})$/i

const ID_CHARACTERS_MAX = 200

/** The first ID that names something; null when there is none. */
export function findId(...ids: readonly unknown[]): string | null {
  const texts = ids.map(id =>
    typeof id === 'string' || Number.isSafeInteger(id) ? `${id}`.trim() : '',
  )
  const isId = (text: string) =>
    !NO_ID.test(text) && text.length <= ID_CHARACTERS_MAX && !/[\p{Cc}\p{Cs}]/u.test(text)
  return texts.find(isId) ?? null
}

/** The address of the shop as `event_source`; nothing when a header of the request has none. */
export function toEventSource(address: string | null | undefined): { event_source?: string } {
  return address && URL.canParse(address) && !/\s/.test(address) ? { event_source: address } : {}
}

/** Whether an amount can be added without a loss: "1.234,56" cannot. */
export function isAmount(amount: unknown): amount is string {
  return typeof amount === 'string' && NUMBER.test(amount)
}

/**
 * The body of a webhook as an object; null for a body that is none. Whole numbers above 2^53 become
 * text, because a number would be the ID of another person.
 */
export function parseWebhook<Body>(text: string): Body | null {
  try {
    const value = JSON.parse(text, keepLargeIntegers)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

function keepLargeIntegers(_name: string, value: unknown, context?: { source?: string }): unknown {
  const isLarge = Number.isInteger(value) && !Number.isSafeInteger(value)
  return isLarge && context?.source ? context.source : value
}

/** Adds decimal texts exactly: "10.10" and "0.205" are "10.305". */
export function addAmounts(amounts: readonly string[]): string {
  const places = Math.max(0, ...amounts.map(text => text.split('.')[1]?.length ?? 0))
  const scaled = amounts.map(text => {
    const [whole = '', fraction = ''] = text.split('.')
    return BigInt(whole + fraction.padEnd(places, '0'))
  })
  const sum = scaled.reduce((total, amount) => total + amount, 0n)
  const digits = (sum < 0n ? -sum : sum).toString().padStart(places + 1, '0')
  const text = places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
  return sum < 0n ? `-${text}` : text
}

/** Leaves out what the shop does not know, which it writes as empty text or null. */
export function withoutEmpty<Value>(
  members: Record<string, Value | null | undefined | ''>,
): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== '' && value != null),
  ) as Record<string, Value>
}

/** The click ID of an ad in the address of the page on which the visit began. */
export function findClickId(address: string | null | undefined): Record<string, string> {
  const url = URL.parse(address ?? '', 'https://shop.invalid')
  const fbclid = url?.searchParams.get('fbclid')
  return fbclid ? { fbclid } : {}
}
