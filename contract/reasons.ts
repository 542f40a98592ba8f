import type { ApiRefusalName } from './api-refusals.ts'
import { isMember, isRecognized, keysOf, type Stored } from './closed-set.ts'
import type { DeliveryStatus } from './deliveries.ts'
import type { RefusalRule } from './refusal-rules.ts'

/** Why a refund gives its order no new value at a platform that restates values. */
export const RESTATEMENT_REASONS = [
  'refund_of_page',
  'refund_without_order',
  'purchase_unknown',
  'several_purchases',
  'too_many_refunds',
  'value_not_changed',
  'purchase_not_sent',
  'purchase_unconfirmed',
  'purchase_payload_expired',
  'restatement_refused',
] as const
export type RestatementReason = (typeof RESTATEMENT_REASONS)[number]

/**
 * Why each delivery has its status: the reasons that are stored with it, by status. Texts about
 * reasons are records over these types, so a new reason does not compile until every text has it.
 * Stored and sent as they are spelled here, so a name never changes.
 */
export const DELIVERY_REASONS = {
  queued: [
    'accepted_for_delivery',
    'test_purchase',
    'replayed',
    'handed_back',
    'destination_refused',
    'withdrawal_lifted',
    'held_for_secret',
    'waiting_for_purchase',
  ],
  sent: ['handed_over'],
  retrying: ['retry', 'throttle', 'unknown'],
  accepted: ['accepted'],
  'failed:auth': ['destination_refused', 'credential_unreadable'],
  'failed:permanent': [
    'refused_by_platform',
    'request_failed',
    'refused_before_sending',
    'payload_expired',
    'no_platform_identity',
    'no_test_code',
    'purchase_failed',
  ],
  'failed:unknown': ['time_used_up', 'single_attempt', 'handed_back', 'not_deduplicated'],
  expired: ['outside_window'],
  'skipped:consent': [
    'no_signal',
    'possible_refusal',
    'consent_refused_for_platform',
    'consent_not_decided',
    'consent_withdrawn',
    'withdrawn_by_page',
    'erased',
    'purchase_withdrawn',
    'purchase_erased',
  ],
  'skipped:no_destination': ['no_destination'],
  'skipped:duplicate': ['sent_by_secret', 'value_already_told'],
  'skipped:not_selected': [
    // Each names the member of the destination's filter that did not match.
    'name_not_selected',
    'action_source_not_selected',
    'key_not_selected',
    'test_not_selected',
    'live_not_selected',
    'value_missing',
    'value_other_currency',
    'value_below_minimum',
    'no_platform_name',
    ...RESTATEMENT_REASONS,
  ],
} as const satisfies Record<DeliveryStatus, readonly string[]>

/** The reasons of one status, or of several. */
export type ReasonOf<Status extends DeliveryStatus> = (typeof DELIVERY_REASONS)[Status][number]
export type DeliveryReason = ReasonOf<DeliveryStatus>

/** A status with one of its own reasons. */
export type DeliveryOutcome<Status extends DeliveryStatus = DeliveryStatus> = {
  [Own in Status]: { status: Own; reason: ReasonOf<Own> }
}[Status]

export const ALL_DELIVERY_REASONS: readonly DeliveryReason[] = [
  ...new Set(
    keysOf(DELIVERY_REASONS).flatMap(
      (status): readonly DeliveryReason[] => DELIVERY_REASONS[status],
    ),
  ),
]

/** The stored reason of a delivery, among the reasons of its status. */
export function reasonOf<Status extends DeliveryStatus>(
  status: Status,
  reason: Stored<DeliveryReason>,
): Stored<ReasonOf<Status>> {
  if (!isRecognized(reason)) return reason
  const own: readonly ReasonOf<Status>[] = DELIVERY_REASONS[status]
  return isMember(own, reason) ? reason : { unrecognized: reason }
}

/** Why deliveries failed; the causes of issues are counted under them. */
export type FailureReason = ReasonOf<Extract<DeliveryStatus, `failed:${string}`>>
export const FAILURE_REASONS: readonly FailureReason[] = [
  ...DELIVERY_REASONS['failed:auth'],
  ...DELIVERY_REASONS['failed:permanent'],
  ...DELIVERY_REASONS['failed:unknown'],
]

/**
 * What issues count besides failures, of accepted events.
 * - page_sent_first: the platform may drop the event as a duplicate of a page's.
 * - page_click_ignored: a page named another click ID for the visitor than the one that was sent.
 */
export const WARNING_REASONS = ['page_sent_first', 'page_click_ignored'] as const
export type WarningReason = (typeof WARNING_REASONS)[number]
export type IssueReason = FailureReason | WarningReason
export const ISSUE_REASONS: readonly IssueReason[] = [...FAILURE_REASONS, ...WARNING_REASONS]

/** Why deliveries are not sent, though nothing failed. */
export type HeldReason = ReasonOf<'expired' | Extract<DeliveryStatus, `skipped:${string}`>>
export const HELD_REASONS: readonly HeldReason[] = [
  ...DELIVERY_REASONS.expired,
  ...DELIVERY_REASONS['skipped:consent'],
  ...DELIVERY_REASONS['skipped:no_destination'],
  ...DELIVERY_REASONS['skipped:duplicate'],
  ...DELIVERY_REASONS['skipped:not_selected'],
]

/** What the overview says about deliveries that wait. */
export type WaitingReason = ReasonOf<'queued' | 'retrying'> | 'sent' | 'destination_paused'

/** A stage of the overview names its reasons in these. */
export type StageReason = FailureReason | HeldReason | WaitingReason | RefusalRule

const FAILED_OUTCOMES = ['retry', 'throttle', 'auth', 'config', 'permanent', 'unknown'] as const

/**
 * What a platform's response to one request means for its events. A rejection is an outcome, not an
 * exception.
 * - accepted: the platform accepted every event.
 * - retry: a temporary error, not caused by the events.
 * - throttle: too many requests.
 * - auth, config: the destination's credential or configuration was rejected, not the events.
 * - permanent: the platform rejected the content. One invalid event fails a whole batch, so half of
 *   the batch may still be accepted.
 * - unknown: no usable response; the platform may or may not have the events. They are sent again
 *   with the same id and time, so that the platform can deduplicate them.
 */
export const SEND_OUTCOMES = ['accepted', ...FAILED_OUTCOMES] as const
export type SendOutcome = (typeof SEND_OUTCOMES)[number]

/** The class of a failure: how a request ended, or `local` when nothing was sent. */
export const FAILURE_CLASSES = [...FAILED_OUTCOMES, 'local'] as const
export type FailureClass = (typeof FAILURE_CLASSES)[number]

/** Why a destination is paused. A sentence about it is stored. */
export type PauseReason =
  | 'paused_by_user'
  | 'credential_rejected'
  | 'configuration_rejected'
  | 'credential_unreadable'
  | 'configuration_invalid'
  | 'platform_not_installed'

/**
 * Why nothing is sent to an active destination for a while. `unreachable`: the circuit is open.
 * `throttled`: the platform asked for a pause. `request_limit`: the requests of this minute or day,
 * which the destinations with one key share, are used up.
 */
export const BACKOFF_CAUSES = ['unreachable', 'throttled', 'request_limit'] as const
export type BackoffCause = (typeof BACKOFF_CAUSES)[number]

/**
 * Why a report is unavailable.
 * - permission: the credential is valid but may not read reports; sending may still work.
 * - credential: the platform rejected the credential itself.
 * - throttled: too many requests; retry after `waitSeconds`.
 * - out_of_reach: the platform did not respond, or only with an error; retry later.
 * - out_of_range: the platform does not keep data that old; a retry never helps.
 * - unreadable: the response is malformed or implausible.
 * - unsupported: the platform has no such report.
 */
export const UNAVAILABLE_CAUSES = [
  'permission',
  'credential',
  'throttled',
  'out_of_reach',
  'out_of_range',
  'unreadable',
  'unsupported',
] as const
export type UnavailableCause = (typeof UNAVAILABLE_CAUSES)[number]

/**
 * Why a day was not compared.
 * - destination_inactive, credential_unreadable, configuration_invalid, no_plug_in: nothing was
 *   asked, and the report is made when the problem is solved.
 * - no_request: nothing was sent on the day to a platform that tells the results of requests only.
 * - no_result: the platform has told no result of the requests of the day.
 * - not_recorded: reports from before the cause was stored.
 */
export const REPORT_CAUSES = [
  ...UNAVAILABLE_CAUSES,
  'destination_inactive',
  'credential_unreadable',
  'configuration_invalid',
  'no_plug_in',
  'no_request',
  'no_result',
  'not_recorded',
] as const
export type ReportCause = (typeof REPORT_CAUSES)[number]

/** Why a destination has no snapshot of its match quality. */
export const SNAPSHOT_CAUSES = [
  ...UNAVAILABLE_CAUSES,
  'credential_unreadable',
  'no_plug_in',
  'no_score',
] as const
export type SnapshotCause = (typeof SNAPSHOT_CAUSES)[number]

/** What is stored about the consent of an event. A denial is refused, so it is never stored. */
export type ConsentOutcome = 'granted' | 'withheld' | 'ledger_only'

/** Why consent was decided so. */
export type ConsentReason =
  | `granted_by_${'consent' | 'tcf' | 'consent_mode'}`
  | 'attested_by_basis'
  | 'names_no_person'
  | 'no_signal'
  | 'possible_refusal'
  | 'consent_withdrawn'
  | 'withdrawn_by_page'
  | 'erased'
  | 'legitimate_interest'
  | 'consent_withdrawal'

/** Why anything happened to an event, from the request to the platform. */
export type Reason = ApiRefusalName | ConsentReason | DeliveryReason | PauseReason | BackoffCause
