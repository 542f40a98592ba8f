import { createHash } from 'node:crypto'
import { CURRENCY, purchaseEventId } from './purchase-event.ts'
import type { Purchase } from './read-purchases.ts'
import type { Receipt } from './read-received.ts'
import type { StoredEvent } from './read-stored.ts'

export interface PurchaseCheck {
  /** What the service says it stored, in dollars; null when it stored no such event. */
  storedDollars: string | null
  /** What the simulator counted, in dollars; null unless it counted exactly one copy. */
  receivedDollars: string | null
  /** Further copies, which the simulator recognised. */
  copies: number
  differences: string[]
}

/** Compares one line of the sample with the event and the receipts it became. Pure. */
export function checkPurchase(
  purchase: Purchase,
  stored: StoredEvent | null,
  receipts: readonly Receipt[],
): PurchaseCheck {
  const counted = receipts.filter(({ deduplicated }) => !deduplicated)
  const [receipt] = counted
  const found = [
    ...(stored ? storedDifferences(purchase, stored) : ['is not stored']),
    ...(counted.length === 1 ? [] : [`the simulator counted it ${counted.length} times`]),
    ...(receipt ? receiptDifferences(purchase, stored, receipt) : []),
  ]
  const eventId = purchaseEventId(purchase)
  return {
    storedDollars: stored?.event.value_amount ?? null,
    receivedDollars: counted.length === 1 ? (receipt?.custom_data.value ?? null) : null,
    copies: receipts.length - counted.length,
    differences: found.map(difference => `${eventId}: ${difference}`),
  }
}

function storedDifferences(purchase: Purchase, { event, deliveries }: StoredEvent): string[] {
  const [delivery] = deliveries
  const differences = unequal('stored', {
    id: [event.id, purchaseEventId(purchase)],
    event_name: [event.event_name, 'Purchase'],
    value_amount: [event.value_amount, purchase.dollars],
    value_currency: [event.value_currency, CURRENCY],
    'value_data.value': [event.value_data?.value, purchase.dollars],
    'value_data.num_items': [event.value_data?.num_items, String(purchase.items)],
    deliveries: [deliveries.length, 1],
  })
  if (delivery && delivery.status !== 'accepted') {
    differences.push(`its delivery is ${delivery.status}: ${delivery.explanation}`)
  }
  return differences
}

function receiptDifferences(
  { customer, dollars, items }: Purchase,
  stored: StoredEvent | null,
  { event_name, event_time, user_data, custom_data }: Receipt,
): string[] {
  const digest = createHash('sha256').update(customer).digest('hex')
  return unequal('received', {
    event_name: [event_name, 'Purchase'],
    'custom_data.value': [custom_data.value, dollars],
    'custom_data.currency': [custom_data.currency, CURRENCY],
    'custom_data.num_items': [custom_data.num_items, String(items)],
    'user_data.external_id': [user_data.external_id?.join(), digest],
    ...(stored && { event_time: [event_time, unixSeconds(stored.event.event_time)] }),
  })
}

type Pairs = Record<string, [is: unknown, shouldBe: unknown]>

function unequal(where: string, pairs: Pairs): string[] {
  return Object.entries(pairs)
    .filter(([, [is, shouldBe]]) => is !== shouldBe)
    .map(([name, [is, shouldBe]]) => `${where} ${name} is ${is}, not ${shouldBe}`)
}

function unixSeconds(time: string): string {
  return String(Date.parse(time) / 1_000)
}
