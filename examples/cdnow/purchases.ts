import { readFileSync } from 'node:fs'
import { type ConsentEvent, consent } from '@signalbox/sdk'

/** One line of the sample: one order of one customer. */
export interface Purchase {
  /** Counted from 1. Only the line distinguishes equal orders on one day. */
  line: number
  /** The customer number at CDNOW, with leading zeros. */
  customer: string
  /** YYYY-MM-DD; the sample has no time of day. */
  date: string
  items: number
  /** Dollars and cents as in the file, such as "29.33". */
  dollars: string
}

/** Columns: number in all of CDNOW, number in the sample, YYYYMMDD, CDs, dollars. */
const LINE = /^ (\d{5}) \d{4} (\d{4})(\d{2})(\d{2}) +(\d+) +(\d+\.\d{2})$/

/** Reads the complete file. Throws at the first malformed line; no line is skipped. */
export function readPurchases(path: string): Purchase[] {
  return parsePurchases(readFileSync(path, 'utf8'))
}

export function parsePurchases(text: string): Purchase[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines.map((line, index) => {
    const [, customer = '', year, month, day, items, dollars = ''] = LINE.exec(line) ?? []
    if (!customer) throw new Error(`Line ${index + 1} of the sample is not a purchase.`)
    const date = `${year}-${month}-${day}`
    return { line: index + 1, customer, date, items: Number(items), dollars }
  })
}

/** CDNOW sold CDs in the United States; amounts are in dollars. */
export const CURRENCY = 'USD'

const CONSENT_AGE_SECONDS = 60

/**
 * The same for the same line in every run, so that a second run finds every event. It contains the
 * line because a customer may place two equal orders on one day; the sample has 40 such lines.
 */
export function purchaseEventId({ line, customer, date }: Purchase): string {
  return `cdnow-${String(line).padStart(4, '0')}-${customer}-${date}`
}

export type PurchaseEvent = ConsentEvent & { event_id: string }

/** The event of a purchase at the time `at`. */
export function purchaseEvent(purchase: Purchase, at: Date): PurchaseEvent {
  const capturedAt = new Date(at.getTime() - CONSENT_AGE_SECONDS * 1_000)
  return {
    event_id: purchaseEventId(purchase),
    event_name: 'Purchase',
    event_time: at.getTime() / 1_000,
    consent_basis: 'consent',
    consent: consent.granted({ captured_at: capturedAt }),
    user_data: { external_id: purchase.customer },
    value_data: {
      value: purchase.dollars,
      currency: CURRENCY,
      num_items: purchase.items,
    },
  }
}

const DAY_SECONDS = 86_400

/** The platform accepts events of the last seven days; one day is left to send them. */
const SPAN_DAYS = 6

/**
 * Maps the purchases of 1997 and 1998 to the six days before `now`. Each day of the sample becomes
 * about a quarter of an hour, so days keep their order. Orders of one day, which have no order in
 * the sample, get the same time.
 */
export function spreadOverRecentDays(
  purchases: readonly Purchase[],
  now: Date,
): (purchase: Purchase) => Date {
  const days = purchases.map(toDayNumber)
  const first = days.reduce((earliest, day) => Math.min(earliest, day), Number.POSITIVE_INFINITY)
  const last = days.reduce((latest, day) => Math.max(latest, day), Number.NEGATIVE_INFINITY)
  const stretchSeconds = Math.floor((SPAN_DAYS * DAY_SECONDS) / (last - first + 1))
  if (stretchSeconds < 1)
    throw new RangeError('The purchases span too many days to keep them distinct.')

  const startSeconds = Math.floor(now.getTime() / 1_000) - SPAN_DAYS * DAY_SECONDS
  return purchase =>
    new Date((startSeconds + (toDayNumber(purchase) - first) * stretchSeconds) * 1_000)
}

/** Days since 1970. */
function toDayNumber({ date }: Purchase): number {
  return Date.parse(`${date}T00:00:00Z`) / (DAY_SECONDS * 1_000)
}
