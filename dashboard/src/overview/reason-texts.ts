import { isMember, keysOf } from '@signalbox/contract/closed-set.ts'
import type { StageReason } from '@signalbox/contract/reasons.ts'
import {
  isRefusalRule,
  REFUSAL_RULES,
  type RefusalRule,
} from '@signalbox/contract/refusal-rules.ts'

const REASON_TEXTS: Record<Exclude<StageReason, RefusalRule>, string> = {
  consent_not_decided: 'Connected while the event arrived',
  consent_refused_for_platform: 'Refused for this platform',
  consent_withdrawn: 'Consent withdrawn',
  credential_unreadable: 'The credential cannot be read',
  destination_paused: 'The destination is paused',
  destination_refused: 'The platform refused the destination',
  erased: 'The person was erased',
  purchase_withdrawn: 'Refund: consent to the purchase withdrawn',
  purchase_erased: 'Refund: person of the purchase erased',
  accepted_for_delivery: 'In the next batch',
  name_not_selected: 'Event name not selected',
  action_source_not_selected: 'Action source not selected',
  key_not_selected: 'Kind of key not selected',
  test_not_selected: 'Test event not selected',
  live_not_selected: 'Live event not selected',
  value_missing: 'Not selected: no value',
  value_other_currency: 'Not selected: another currency',
  value_below_minimum: 'Not selected: value too low',
  no_platform_name: 'Event name not mapped',
  refund_of_page: 'Refund of a page',
  refund_without_order: 'Refund without an order',
  purchase_unknown: 'Refund: purchase not stored',
  several_purchases: 'Refund: several purchases have the order ID',
  too_many_refunds: 'Refund: too many refunds of the order',
  value_not_changed: 'Refund changes no value',
  purchase_not_sent: 'Refund: purchase not sent there',
  purchase_unconfirmed: 'Refund: purchase not confirmed',
  purchase_payload_expired: 'Refund: identity of the purchase expired',
  restatement_refused: 'Refund: the platform would refuse the value',
  purchase_failed: 'Refund: purchase failed at the platform',
  waiting_for_purchase: 'Refund waits for its purchase',
  value_already_told: 'The platform has the value of the order',
  handed_back: 'Back in the queue',
  held_for_secret: 'Waits for the event of the tracker secret',
  no_destination: 'No destination',
  disconnected: 'Destination disconnected',
  no_platform_identity: 'No identity for this platform',
  no_signal: 'Consent not readable as granted',
  no_test_code: 'No test event code',
  not_deduplicated: 'Not sent again: the platform would count a copy',
  outside_window: 'Too old for the platform',
  payload_expired: 'Identity payload deleted',
  possible_refusal: 'A consent member may refuse',
  refused_before_sending: 'The platform would refuse it',
  refused_by_platform: 'Refused by the platform',
  request_failed: 'Taken by the platform, whose request failed later',
  replayed: 'Replayed',
  retry: 'Retried after an error of the platform',
  sent: 'Being sent',
  sent_by_secret: 'The tracker secret sent the same event',
  single_attempt: 'The only attempt failed',
  test_purchase: 'Sent by the request of a test purchase',
  throttle: 'The platform asked for a pause',
  time_used_up: 'Retried until it was too old',
  unknown: 'Retried without a usable answer',
  withdrawal_lifted: 'A withdrawal was lifted',
  withdrawn_by_page: 'Consent withdrawn by a page',
}

const REASONS = keysOf(REASON_TEXTS)

/** A reason in words; one of another version as it is stored. */
export function describeReason(reason: string): string {
  if (isRefusalRule(reason)) return REFUSAL_RULES[reason].title
  return isMember(REASONS, reason) ? REASON_TEXTS[reason] : reason.replaceAll('_', ' ')
}
