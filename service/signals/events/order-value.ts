import type { RefundEffect } from '@signalbox/contract/orders.ts'
import { isOfPage } from './event-columns.ts'
import type { StoredEvent } from './event-store.ts'

/** An order as the ledger knows it: what was bought, and what was paid back. */
export interface Order {
  /** The first one that was received, of the tracker secret if it sent one; null: not stored. */
  purchase: StoredEvent | null
  /** Other events of the same kind of key with its name and order ID; they are not added. */
  otherPurchases: StoredEvent[]
  /** In the order of receipt. */
  refunds: StoredEvent[]
  /** There are more refunds than are read. */
  hasMoreRefunds: boolean
}

/*
 * What a refund does to the value of its order:
 * - no_purchase_value: there is nothing to subtract from, or not yet.
 * - subtracted: its value, without its sign, is subtracted.
 * - whole: it has no value, so everything is refunded.
 * - other_currency, no_currency: amounts are never converted, and a currency is never guessed.
 * - of_page: anyone can copy the key of a page, so its refund changes nothing.
 */
export interface OrderValue {
  currency: string
  /** Decimal text, as the purchase says. */
  gross: string
  /** What its refunds say together; more than the gross value where they say too much. */
  refunded: string
  /** Never below zero. */
  net: string
  isBeyondValue: boolean
}

type Valued = Pick<StoredEvent, 'valueAmount' | 'valueCurrency' | 'space'>

export function findRefundEffect(
  { valueAmount, valueCurrency, space }: Valued,
  purchase: Valued | null,
): RefundEffect {
  if (isOfPage({ space })) return 'of_page'
  if (!hasValue(purchase)) return 'no_purchase_value'
  if (valueAmount === null) return 'whole'
  if (valueCurrency === null) return 'no_currency'
  return valueCurrency === purchase.valueCurrency ? 'subtracted' : 'other_currency'
}

/** Something below zero was not bought, so no refund can be subtracted from it. */
function hasValue(
  purchase: Valued | null,
): purchase is Valued & { valueAmount: string; valueCurrency: string } {
  if (purchase === null || purchase.valueAmount === null) return false
  const { valueAmount: amount, valueCurrency } = purchase
  return valueCurrency !== null && toUnits(amount, countDecimals(amount)) >= 0n
}

/** Null without a stored purchase that has a currency and a value of zero or more. */
export function computeOrderValue({
  purchase,
  refunds,
}: {
  purchase: Valued | null
  refunds: readonly Valued[]
}): OrderValue | null {
  if (!hasValue(purchase)) return null
  const { valueAmount: gross, valueCurrency: currency } = purchase
  const effects = refunds.map(refund => findRefundEffect(refund, purchase))
  const amounts = refunds
    .filter((_, index) => effects[index] === 'subtracted')
    .map(({ valueAmount }) => valueAmount as string)
  const digits = Math.max(...[gross, ...amounts].map(countDecimals))
  const whole = toUnits(gross, digits)
  const parts = amounts.reduce((sum, amount) => sum + absolute(toUnits(amount, digits)), 0n)
  // A whole refund beside partial ones pays back what they left.
  const refunded = effects.includes('whole') && parts < whole ? whole : parts
  const net = refunded < whole ? whole - refunded : 0n
  return {
    currency,
    gross,
    refunded: formatUnits(refunded, digits),
    net: formatUnits(net, digits),
    isBeyondValue: refunded > whole,
  }
}

/** Whether two decimal texts are the same amount: 5 and 5.00 are. */
export function isSameAmount(one: string, other: string): boolean {
  const digits = Math.max(countDecimals(one), countDecimals(other))
  return toUnits(one, digits) === toUnits(other, digits)
}

function countDecimals(amount: string): number {
  return amount.split('.')[1]?.length ?? 0
}

/** The amount as a whole number of its last digit. */
function toUnits(amount: string, digits: number): bigint {
  const [whole = '0', fraction = ''] = amount.split('.')
  return BigInt(`${whole}${fraction.padEnd(digits, '0')}`)
}

function absolute(units: bigint): bigint {
  return units < 0n ? -units : units
}

/** Of what is not negative. */
function formatUnits(units: bigint, digits: number): string {
  const text = String(units).padStart(digits + 1, '0')
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
}
