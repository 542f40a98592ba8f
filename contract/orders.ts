import Type, { type Static } from 'typebox'
import { named, nullable, stringEnum, timestamp } from './scalars.ts'

/** What a refund does to the value of its order. */
export const REFUND_EFFECTS = [
  'subtracted',
  'whole',
  'other_currency',
  'no_currency',
  'of_page',
  'no_purchase_value',
] as const
export type RefundEffect = (typeof REFUND_EFFECTS)[number]

const amount = (description: string) =>
  nullable(Type.String({ description: `Major units, as decimal text. ${description}` }))

const orderEvent = {
  id: Type.String(),
  event_name: Type.String(),
  created_at: timestamp('When it was stored.'),
  value_amount: amount('Null without a value.'),
  value_currency: nullable(Type.String()),
}

const OrderPurchase = named('OrderPurchase', Type.Object(orderEvent))

const OrderRefund = named(
  'OrderRefund',
  Type.Object({
    ...orderEvent,
    effect: stringEnum(REFUND_EFFECTS, {
      description:
        '`subtracted`: its value is subtracted. `whole`: it has no value, so everything is ' +
        'refunded. `other_currency`, `no_currency`: it is not subtracted, because amounts are ' +
        'never converted. `of_page`: a publishable key sent it, so it changes nothing. ' +
        '`no_purchase_value`: the purchase is not stored yet, or its value is missing or below ' +
        'zero.',
    }),
  }),
)

const OrderAtPlatform = named(
  'OrderAtPlatform',
  Type.Object({
    destination_id: Type.String(),
    platform: Type.String({ description: 'As in the `type` of the destination.' }),
    value_amount: amount('The last value that the platform accepted for the order, if any.'),
    value_currency: nullable(Type.String()),
    event_id: nullable(Type.String({ description: 'The purchase or the refund that told it.' })),
    is_net_value: Type.Boolean({ description: 'It is the net value of the order.' }),
    explanation: Type.String({
      description: 'What the platform was told, what it said about it later, and why not more.',
    }),
  }),
)

export const EventOrder = named(
  'EventOrder',
  Type.Object({
    order_id: nullable(Type.String()),
    purchase: nullable(OrderPurchase),
    other_purchases: Type.Array(Type.String(), {
      description: 'IDs of other purchases with the same order ID, whose values are not added.',
    }),
    refunds: Type.Array(OrderRefund, { description: 'Oldest first, at most a hundred.' }),
    currency: nullable(Type.String()),
    gross_value: amount('What the purchase says.'),
    refunded_value: amount('What the refunds in its currency say together.'),
    net_value: amount('The gross value less the refunded value, and never below zero.'),
    explanation: Type.String({ description: 'What the net value counts, and what it does not.' }),
    platforms: Type.Array(OrderAtPlatform, {
      description: 'What each destination of the purchase was told.',
    }),
  }),
)
export type EventOrder = Static<typeof EventOrder>
