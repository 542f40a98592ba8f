import { isRecognized } from '@signalbox/contract/closed-set.ts'
import type { EventOrder } from '@signalbox/contract/orders.ts'
import type { StoredDelivery } from '../delivery/delivery-store.ts'
import type { StoredReceipt } from '../delivery/receipt-store.ts'
import { readResult } from '../delivery/restate-orders.ts'
import { eventRefKey } from '../events/event-columns.ts'
import { PURCHASE, REFUND } from '../events/event-record.ts'
import type { StoredEvent } from '../events/event-store.ts'
import {
  computeOrderValue,
  findRefundEffect,
  isSameAmount,
  type Order,
  type OrderValue,
} from '../events/order-value.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'

interface OrderInput {
  order: Order | null
  /** Of the purchase and its refunds. */
  deliveries: readonly StoredDelivery[]
  /** Of the last requests of these deliveries. */
  receipts: readonly StoredReceipt[]
  platforms: PlatformRegistry
}

/** Null for an event that is no purchase and no refund, and that no refund names. */
export function orderView(event: StoredEvent, { order, ...input }: OrderInput): EventOrder | null {
  if (order === null) return null
  const { purchase, otherPurchases, refunds } = order
  const isOrder = event.eventName === PURCHASE || event.eventName === REFUND || refunds.length > 0
  if (!isOrder) return null
  const value = order.hasMoreRefunds ? null : computeOrderValue(order)
  return {
    order_id: (purchase ?? event).orderId,
    purchase: purchase && orderEventView(purchase),
    other_purchases: otherPurchases.map(({ eventId }) => eventId),
    refunds: refunds.map(refund => ({
      ...orderEventView(refund),
      effect: findRefundEffect(refund, purchase),
    })),
    currency: value?.currency ?? null,
    gross_value: value?.gross ?? null,
    refunded_value: value?.refunded ?? null,
    net_value: value?.net ?? null,
    explanation: explainOrder(order, value).join(' '),
    platforms: purchase ? listPlatforms(order, { ...input, value }) : [],
  }
}

function orderEventView(event: StoredEvent) {
  return {
    id: event.eventId,
    event_name: event.eventName,
    created_at: event.createdAt.toISOString(),
    value_amount: event.valueAmount,
    value_currency: event.valueCurrency,
  }
}

function explainOrder(order: Order, value: OrderValue | null): string[] {
  const { purchase, otherPurchases, refunds, hasMoreRefunds } = order
  if (purchase === null) return ['The purchase is not stored, so there is no value to refund.']
  const sentences: string[] = []
  if (hasMoreRefunds) {
    sentences.push('The order has more than 100 refunds, which are not added up.')
  } else if (value === null) {
    const lack = purchase.valueAmount?.startsWith('-') ? 'a value below zero' : null
    sentences.push(
      `The purchase has ${lack ?? 'no value with a currency'}, so there is no net value.`,
    )
  } else if (refunds.length === 0) {
    sentences.push('The order has no refund: its net value is that of the purchase.')
  } else if (value.isBeyondValue) {
    sentences.push(
      `The refunds are ${value.refunded} ${value.currency}, more than the purchase: the net ` +
        'value is never below zero.',
    )
  } else {
    sentences.push(
      `${value.gross} ${value.currency} less refunds of ${value.refunded} is ${value.net}.`,
    )
  }
  const effects = refunds.map(refund => findRefundEffect(refund, purchase))
  const count = (effect: (typeof effects)[number]) => effects.filter(own => own === effect).length
  if (value !== null && count('whole') > 0) {
    sentences.push('A refund without a value refunds everything.')
  }
  if (count('other_currency') + count('no_currency') > 0) {
    sentences.push(
      'Not subtracted: refunds in another currency or without one. Amounts are never converted.',
    )
  }
  if (count('of_page') > 0) {
    sentences.push('Not subtracted: refunds that a page sent, because anyone can copy its key.')
  }
  if (otherPurchases.length > 0) {
    const ids = otherPurchases.map(({ eventId }) => eventId).join(', ')
    sentences.push(
      `The first purchase counts; others have the same order ID and are not added: ${ids}.`,
    )
  }
  return sentences
}

interface ToldInput extends Omit<OrderInput, 'order'> {
  value: OrderValue | null
}

/** For each destination that the purchase was planned for. */
function listPlatforms(
  { purchase, refunds }: Order,
  { value, deliveries, receipts, platforms }: ToldInput,
): EventOrder['platforms'] {
  const ofEvent = (event: StoredEvent) =>
    deliveries.filter(delivery => eventRefKey(delivery) === eventRefKey(event))
  const ofRefunds = refunds.flatMap(ofEvent)
  return (purchase ? ofEvent(purchase) : []).flatMap(own => {
    const { destinationId, platform } = own
    if (destinationId === null || platform === null || own.isTest) return []
    const plugIn = platforms.find(platform)
    const restates = plugIn?.restatesValues !== undefined
    const told = ofRefunds
      .filter(delivery => delivery.destinationId === destinationId && isTold(delivery))
      .toSorted((one, other) => timeOf(one) - timeOf(other))
      .at(-1)
    const isAccepted = own.status === 'accepted'
    const amount = isAccepted ? (told?.toldValue ?? purchase?.valueAmount ?? null) : null
    const last = told ?? own
    const result =
      plugIn && amount !== null ? readResult(last, { platform: plugIn, receipts }) : null
    const isNet = amount !== null && value !== null && isSameAmount(amount, value.net)
    return [
      {
        destination_id: destinationId,
        platform,
        value_amount: amount,
        value_currency: amount === null ? null : (purchase?.valueCurrency ?? null),
        event_id: amount === null ? null : last.eventId,
        is_net_value: isNet,
        explanation: [
          explainTold(own, { restates, isNet, hasRefunds: refunds.length > 0 }),
          ...resultSentences(result),
        ].join(' '),
      },
    ]
  })
}

function isTold({ status, toldValue, isTest }: StoredDelivery): boolean {
  return status === 'accepted' && toldValue !== null && !isTest
}

function timeOf({ updatedAt, createdAt }: StoredDelivery): number {
  return (updatedAt ?? createdAt).getTime()
}

function explainTold(
  { status }: StoredDelivery,
  { restates, isNet, hasRefunds }: { restates: boolean; isNet: boolean; hasRefunds: boolean },
): string {
  if (status !== 'accepted') {
    const name = isRecognized(status) ? status : status.unrecognized
    return `The platform does not have the purchase: its delivery is ${name}.`
  }
  if (isNet) return 'The last value that the platform accepted is the net value.'
  if (!hasRefunds) return 'The platform accepted the value of the purchase.'
  return restates
    ? 'The platform has another value than the net value. The deliveries of the refunds say why.'
    : 'This platform cannot change the value of a purchase that it has: refunds are events of ' +
        'their own there.'
}

/** Accepted is received; the result of the request says more, and comes later. */
function resultSentences(result: ReturnType<typeof readResult> | null): string[] {
  if (!result?.receipt) return []
  switch (result.state) {
    case 'known':
    case 'failed':
      return []
    case 'processing':
      return ['It has not told the result of that request yet.']
    case 'unclear':
      return [
        'It did not say that it processed that value: it told no result of the request, or it ' +
          'processed only a part of it and does not say which.',
      ]
  }
}
