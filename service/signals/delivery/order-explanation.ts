import type { RestatementReason } from '@signalbox/contract/reasons.ts'
import { REFUND } from '../events/event-record.ts'
import type { StoredEvent } from '../events/event-store.ts'
import type { Order } from '../events/order-value.ts'
import type { StoredDelivery } from './delivery-store.ts'
import { PURCHASE_WAIT_SECONDS } from './restate-orders.ts'

interface OrderContext {
  /** The time of the read. */
  at: Date
  /** The order of the event; null or left out: it names none. */
  order?: Order | null
  /** Whether the platform can give a purchase a new value; left out: not known. */
  restatesValues?: boolean
}

/** Null for a delivery that does not wait for a purchase. */
export function purchaseWaitSentence(
  { status, statusReason, nextAttemptAt }: StoredDelivery,
  { createdAt }: StoredEvent,
  { at, order = null }: OrderContext,
): string | null {
  const isWaiting = status === 'queued' && statusReason === 'waiting_for_purchase'
  if (!isWaiting || nextAttemptAt === null || nextAttemptAt <= at) return null
  const next = nextAttemptAt.toISOString()
  if (!order?.purchase) {
    const until = new Date(createdAt.getTime() + PURCHASE_WAIT_SECONDS * 1_000)
    return (
      'It waits for the purchase that it refunds, which is not stored. ' +
      `It looks again at ${next}, and until ${until.toISOString()}.`
    )
  }
  return (
    `It waits until the platform has confirmed the purchase ${order.purchase.eventId} and the ` +
    'refunds of the order that were sent before: the value of an unknown purchase would be a ' +
    `new conversion. It looks again at ${next}; no attempt is used up.`
  )
}

/** What an accepted refund told the platform. Accepted is received: the result may be open. */
export function restatementSentences(
  { status, toldValue }: StoredDelivery,
  { eventName }: StoredEvent,
  { order = null, restatesValues }: OrderContext,
): string[] {
  if (eventName !== REFUND || status !== 'accepted') return []
  if (toldValue !== null) {
    const currency = order?.purchase?.valueCurrency ?? ''
    const id = order?.purchase ? ` ${order.purchase.eventId}` : ''
    return [
      `It told a new value of the purchase${id}: ${toldValue} ${currency}`.trim() +
        ', which is its value less the refunds that were stored by then.',
    ]
  }
  if (restatesValues !== false) return []
  return [
    'This platform cannot change the value of a purchase that it has: that value stays, and the ' +
      'refund is an event of its own.',
  ]
}

/** Why a refund gave its order no new value, after "Not sent: ". */
export const RESTATEMENT_TEXTS: Record<RestatementReason, string> = {
  refund_of_page:
    'a page sent the refund, and anyone can copy the key of a page. Send refunds with the ' +
    'tracker secret.',
  refund_without_order:
    'the refund names its purchase neither by parent_event_id nor by order_id. Another refund as ' +
    'its parent does not count, and neither does an order_id with an identifier of a person.',
  purchase_unknown:
    'the purchase that it refunds was not stored within a day. A value for an unknown purchase ' +
    'would be a new conversion.',
  several_purchases:
    'several purchases have the order ID, and the platform has them as one. Which value it has ' +
    'is not known, so it is not changed.',
  too_many_refunds: 'the order has more than 100 refunds, which are not added up.',
  value_not_changed:
    'it does not change the value of the order: the refund is zero or in another currency than ' +
    'the purchase, or the purchase has no value above zero with a currency. Amounts are never ' +
    'converted.',
  purchase_not_sent:
    'this destination was not sent the purchase, so there is no value to change. A value for an ' +
    'unknown purchase would be a new conversion.',
  purchase_unconfirmed:
    'the platform did not say that it processed the purchase: it told no result, or it processed ' +
    'only a part of the request and does not say which. A value for an unknown purchase would be ' +
    'a new conversion.',
  purchase_payload_expired:
    'the identity payload of the purchase has expired, and the platform takes a new value only ' +
    'with it.',
  restatement_refused: 'the platform would not take the purchase with its new value now.',
}
