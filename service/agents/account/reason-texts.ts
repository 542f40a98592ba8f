import { type Stored, storedText } from '@signalbox/contract/closed-set.ts'
import type { DeliveryReason, StageReason } from '@signalbox/contract/reasons.ts'
import { REFUSAL_RULES, type RefusalRule } from '@signalbox/contract/refusal-rules.ts'

/** Why a delivery has its status, for an agent: without text of the sender or the platform. */
const DELIVERY_TEXTS: Record<DeliveryReason | 'destination_paused', string> = {
  accepted_for_delivery: 'It waits to be sent.',
  test_purchase: 'It is a test purchase.',
  replayed: 'It was replayed and waits to be sent again.',
  held_for_secret: 'A page sent it; it waits for the same event of the back end.',
  waiting_for_purchase: 'A refund; it waits until the platform has confirmed the purchase.',
  withdrawal_lifted: 'A withdrawal that stopped it was lifted; it waits to be sent.',
  handed_back: 'The worker that had it stopped, or the platform gave no answer.',
  destination_refused: 'The platform refuses the destination: its credential or settings.',
  destination_paused: 'The destination is inactive; nothing is sent until a person repairs it.',
  handed_over: 'It was handed to the platform, whose answer is not known yet.',
  retry: 'The platform had a temporary error; it is sent again.',
  throttle: 'The platform asked to slow down; it is sent again.',
  unknown: 'The platform gave no usable answer; it is sent again with the same ID.',
  accepted: 'The platform accepted it.',
  credential_unreadable: 'The credential of the destination cannot be read; set a new one.',
  refused_by_platform: 'The platform refused the content of the event.',
  request_failed: 'The platform took the request, and later processed none of it.',
  refused_before_sending: 'The content cannot be sent to the platform.',
  payload_expired: 'The identity of the event had expired before it was sent.',
  no_platform_identity: 'The event has no identifier that the platform could match.',
  no_test_code: 'Test mode had no code.',
  purchase_failed: 'A refund whose purchase failed at the platform.',
  time_used_up: 'Retries took longer than the platform accepts the event.',
  single_attempt: 'It is sent once only, and that failed.',
  not_deduplicated: 'The platform may have it, and would count a copy again.',
  outside_window: 'The event is older than the platform accepts.',
  no_signal: 'The event says nothing readable about consent to advertising.',
  possible_refusal: 'The event may contain a refusal of advertising.',
  consent_refused_for_platform: 'The person refused this platform.',
  consent_not_decided:
    'The destination was connected while the event arrived, so no consent was decided for it.',
  consent_withdrawn: 'The person withdrew consent.',
  withdrawn_by_page: 'The person withdrew consent on a page; the shop can lift that.',
  erased: 'The person was erased.',
  purchase_withdrawn: 'A refund; the person of the purchase withdrew consent.',
  purchase_erased: 'A refund; the person of the purchase was erased.',
  name_not_selected: 'The destination does not select this event name.',
  action_source_not_selected: 'The destination does not select this action source.',
  key_not_selected: 'The destination does not select events of this kind of key.',
  test_not_selected: 'The destination does not select test events.',
  live_not_selected: 'The destination selects test events only.',
  value_missing: 'The destination selects a minimum value, and the event has no value.',
  value_other_currency: 'The destination selects a minimum value in another currency.',
  value_below_minimum: 'The value of the event is below the minimum of the destination.',
  no_platform_name: 'The platform needs a name of its own, and the destination maps none.',
  refund_of_page: 'A page sent the refund, and a page may not change the value of an order.',
  refund_without_order: 'The refund names no order.',
  purchase_unknown: 'The purchase of the refund is not stored.',
  several_purchases: 'Several purchases have the order ID of the refund.',
  too_many_refunds: 'The order has more refunds than are added up.',
  value_not_changed: 'The refund does not change the value of the order, or there is none.',
  purchase_not_sent: 'The purchase was not sent to this destination.',
  purchase_unconfirmed: 'The platform did not confirm the purchase.',
  purchase_payload_expired: 'The identity of the purchase has expired.',
  restatement_refused: 'The platform would refuse the new value of the purchase.',
  value_already_told: 'Another refund of the order gave the platform the same value.',
  sent_by_secret: 'A page sent it, and the back end sent the same event.',
  no_destination: 'The tracker had no destination.',
  disconnected: 'The destination was disconnected before the event was sent.',
}

/** Explains a reason by its code; a code of another version explains itself. */
export function explainReason(reason: Stored<DeliveryReason | StageReason> | null): string {
  const code = reason === null ? '' : storedText(reason)
  if (Object.hasOwn(DELIVERY_TEXTS, code)) return DELIVERY_TEXTS[code as DeliveryReason]
  if (!Object.hasOwn(REFUSAL_RULES, code)) return ''
  const { title, advice } = REFUSAL_RULES[code as RefusalRule]
  return `${title}. ${advice}`
}
