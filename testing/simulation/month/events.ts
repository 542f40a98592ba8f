import { join } from 'node:path'
import { type Purchase, readPurchases } from '@signalbox/example-cdnow/purchases.ts'
import { DAY_MILLISECONDS } from '../../../service/runtime/util/time.ts'
import { MONTH_DAYS, SIMULATED_DAYS } from './calendar.ts'

/** 0 has all the faults; 1 is a small shop with its own destination. */
export type ShopNumber = 0 | 1

export type Departure =
  /** The customer withdraws consent before anything is sent. */
  | 'withdraws immediately'
  /** Withdraws or requests erasure while it is unknown whether the platform stored the event. */
  | 'withdraws'
  | 'is erased'

/** An event that a shop sends, before its trading hour is known. */
export interface MonthEvent {
  shop: ShopNumber
  eventId: string
  eventName: string
  happensAt: Date
  /** Null for what is no real purchase. */
  purchase: Purchase | null
  /** The same request is sent again: concurrently, or hours later. */
  repeat: 'immediately' | 'later' | null
  /** The Pixel reports it too, before or after the server. */
  pixel: 'before' | 'after' | null
  departure: Departure | null
  /** The platform refuses it for its content. */
  isRefused: boolean
}

const SAMPLE = join(import.meta.dirname, '../../../examples/cdnow/CDNOW_sample.txt')
/** The first of a run of days in 1997 on which CDNOW sold a few dozen orders each. */
const FIRST_DAY = '1997-02-01'
const SMALL_SHOP_SHARE = 4
/** After the month, every fourth order is enough. */
const LATER_SHARE = 4

/** The sample's orders for each simulated day. */
export function groupPurchasesByDay(): Purchase[][] {
  const days = Array.from({ length: SIMULATED_DAYS }, (): Purchase[] => [])
  for (const purchase of readPurchases(SAMPLE)) {
    const since = Date.parse(purchase.date) - Date.parse(FIRST_DAY)
    const number = since / DAY_MILLISECONDS
    if (number <= MONTH_DAYS || purchase.line % LATER_SHARE === 0) days[number]?.push(purchase)
  }
  return days
}

/** A customer always buys at the same shop. */
export function assignShop({ customer }: Purchase): ShopNumber {
  return Number(customer) % SMALL_SHOP_SHARE === 0 ? 1 : 0
}

/** An event with default values for everything that is not given. */
export function createMonthEvent(
  event: Pick<MonthEvent, 'shop' | 'eventId' | 'eventName' | 'happensAt'> & Partial<MonthEvent>,
): MonthEvent {
  return {
    purchase: null,
    repeat: null,
    pixel: null,
    departure: null,
    isRefused: false,
    ...event,
  }
}

/** Which customer identifiers the first shop sends on a simulated day. */
export interface SentIdentifiers {
  email: boolean
  click: boolean
}

/** From day 15 it sends email address and click ID, from day 24 only the click ID. */
export function identifiersOn(day: number): SentIdentifiers {
  return { email: day >= 14 && day < 23, click: day >= 14 }
}

/** The body of POST /api/v1/events. */
export function bodyOf(event: MonthEvent, identity: SentIdentifiers): Record<string, unknown> {
  const { eventId, eventName, happensAt, purchase } = event
  const capturedAt = new Date(happensAt.getTime() - 60_000)
  return {
    event_id: eventId,
    event_name: eventName,
    event_time: happensAt.getTime() / 1_000,
    event_source: 'https://shop.example/',
    visitor_id: `visitor-of-${eventId}`,
    consent_basis: 'consent',
    consent: { ad_user_data: 'granted', captured_at: capturedAt.toISOString() },
    user_data: {
      ...buildBrowserData(event),
      ...(purchase && buildCustomerData(event, purchase, identity)),
    },
    ...(purchase && { value_data: buildValueData(purchase) }),
  }
}

function buildBrowserData({ happensAt, eventId }: MonthEvent): Record<string, string> {
  return {
    client_user_agent: 'Mozilla/5.0',
    client_ip_address: '8.8.8.8',
    fbp: `fb.1.${happensAt.getTime()}.${eventId.length}${happensAt.getTime() % 1_000_003}`,
  }
}

function buildCustomerData(
  { shop, happensAt }: MonthEvent,
  { customer, line }: Purchase,
  identity: SentIdentifiers,
): Record<string, string> {
  const email = { em: `customer-${customer}@mail.example.com` }
  const id = { external_id: customer }
  if (shop === 1) return { ...email, ...id }
  // Without names, a morning with few orders could fall below the alert score.
  return {
    ...id,
    fn: 'Kim',
    ln: 'Miller',
    zp: '94103',
    ...(line % 3 !== 0 && { ph: `+49151${String(10_000_000 + line)}` }),
    ...(identity.email && email),
    ...(identity.click && { fbc: `fb.1.${happensAt.getTime()}.Click${customer}x${line}` }),
  }
}

function buildValueData({ dollars, items, line }: Purchase) {
  return { value: dollars, currency: 'USD', num_items: items, order_id: String(line) }
}
