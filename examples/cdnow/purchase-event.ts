import type { Purchase } from './read-purchases.ts'

/** CDNOW sold CDs in the United States; the sample counts dollars. */
export const CURRENCY = 'USD'

const CONSENT_AGE_SECONDS = 60

/**
 * The same for the same line in every run, so that a second run finds every event again. The line
 * is in it because a customer may place two equal orders on one day, and the sample has 40 such
 * lines.
 */
export function purchaseEventId({ line, customer, date }: Purchase): string {
  return `cdnow-${String(line).padStart(4, '0')}-${customer}-${date}`
}

/** The body of POST /events for one purchase that happened `at` a time. */
export function purchaseEvent(purchase: Purchase, at: Date) {
  const capturedAt = new Date(at.getTime() - CONSENT_AGE_SECONDS * 1_000)
  return {
    event_id: purchaseEventId(purchase),
    event_name: 'Purchase',
    event_time: at.getTime() / 1_000,
    consent_basis: 'consent',
    consent: { advertising: 'granted', captured_at: capturedAt.toISOString() },
    user_data: { external_id: purchase.customer },
    value_data: {
      value: purchase.dollars,
      currency: CURRENCY,
      num_items: purchase.items,
    },
  }
}
