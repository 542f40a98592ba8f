import { isMember, isRecognized, storedText } from '@signalbox/contract/closed-set.ts'
import { RESTATEMENT_REASONS, type ReasonOf, reasonOf } from '@signalbox/contract/reasons.ts'
import { isOfPage } from '../events/event-columns.ts'
import { REFUND } from '../events/event-record.ts'
import type { StoredEvent } from '../events/event-store.ts'
import { describeRedactedMembers } from '../events/free-text.ts'
import { consentSentence, notSentWords } from './consent-explanation.ts'
import type { StoredDelivery } from './delivery-store.ts'
import { countUnknownAttempts, repeatSentence } from './earlier-attempts.ts'
import { RESTATEMENT_TEXTS, restatementSentences } from './order-explanation.ts'
import {
  clickConflictSentence,
  duplicateSentences,
  prefixSentence,
  replacedSentence,
} from './page-explanation.ts'
import { explainReceipt, explainRest } from './receipt-explanation.ts'
import type { UnselectedReason } from './routing.ts'
import {
  type ExplanationContext,
  explainSending,
  explainWaiting,
  platformMessage,
  withoutDestinationSentence,
} from './waiting-explanation.ts'

/**
 * Explains what happened to a delivery, why, and what happens next, for marketers and engineers. It
 * is true at the time of the read: what may change is said with its condition. The key of a page,
 * dropped members and differing duplicates of the event follow in separate sentences.
 */
export function explainDelivery(
  delivery: StoredDelivery,
  event: StoredEvent,
  context: ExplanationContext,
): string {
  const unknown = countUnknownAttempts(delivery, event, context.attempts)
  return [
    ...statusSentences(delivery, event, context),
    repeatSentence(delivery, unknown, context.at),
    prefixSentence(delivery, event),
    clickConflictSentence(event),
    ...noteSentences(event),
  ]
    .filter(text => text !== '')
    .join(' ')
}

function statusSentences(
  delivery: StoredDelivery,
  event: StoredEvent,
  context: ExplanationContext,
): string[] {
  const { status } = delivery
  const message = platformMessage(delivery)
  if (!isRecognized(status)) return [`Another version stored the status ${status.unrecognized}.`]
  switch (status) {
    case 'queued':
      return explainWaiting(delivery, event, context)
    case 'sent':
      return explainSending(delivery, event, context)
    case 'accepted':
      return [
        acceptedSentence(delivery),
        ...explainReceipt(delivery, context.receipts ?? []),
        ...restatementSentences(delivery, event, context),
        ...duplicateSentences(delivery, event, context),
        explainRest(delivery, context.receipts ?? []),
      ]
    case 'retrying':
      return [attemptsSentence(delivery), message, ...explainWaiting(delivery, event, context)]
    case 'failed:auth':
      return authSentences(delivery, message, context)
    case 'failed:permanent':
      return permanentSentences(delivery, message)
    case 'failed:unknown':
      return exhaustedSentences(delivery, message, context)
    case 'expired':
      return [expiredSentence(delivery, event, context)]
    case 'skipped:consent':
      return [consentSentence(delivery, event, context)]
    case 'skipped:no_destination':
      return [withoutDestinationSentence(delivery)]
    case 'skipped:not_selected':
      return [unselectedSentence(delivery), message]
    case 'skipped:duplicate':
      return [`${notSentWords(delivery)}: ${duplicateSentence(delivery, context)}`]
  }
}

/** A refund that has waited in the queue is sent as its purchase, whose age counts. */
function expiredSentence(
  { updatedAt }: StoredDelivery,
  event: StoredEvent,
  { order, restatesValues }: ExplanationContext,
): string {
  const purchase = event.eventName === REFUND && restatesValues ? order?.purchase : null
  const isOfPurchase = purchase && updatedAt !== null
  const name = isOfPurchase ? 'purchase' : 'event'
  const { eventTime } = isOfPurchase ? purchase : event
  return (
    `Not sent: the ${name} of ${eventTime.toISOString()} is older than the platform accepts. ` +
    'It stays in the ledger.'
  )
}

function duplicateSentence(delivery: StoredDelivery, context: ExplanationContext): string {
  return delivery.statusReason === 'value_already_told'
    ? 'another refund of the order has told the platform the same value of the purchase.'
    : replacedSentence(delivery, context)
}

function unselectedSentence(delivery: StoredDelivery): string {
  const { statusReason } = delivery
  const reason = reasonOf('skipped:not_selected', statusReason)
  if (isRecognized(reason) && isMember(RESTATEMENT_REASONS, reason)) {
    return [notSentWords(delivery), RESTATEMENT_TEXTS[reason]].join(': ')
  }
  const known = isRecognized(reason) ? UNSELECTED_REASONS[reason] : storedText(statusReason)
  return (
    `Not sent: the destination did not select the event when it was received, because ${known}. ` +
    'It stays in the ledger; a change of the routing applies to later events.'
  )
}

const UNSELECTED_REASONS: Record<UnselectedReason, string> = {
  name_not_selected: 'its name is not in filter.event_names',
  action_source_not_selected: 'its action source is not in filter.action_sources',
  key_not_selected: 'the kind of key that sent it is not in filter.spaces',
  test_not_selected: 'filter.test excludes test events',
  live_not_selected: 'filter.test selects test events only',
  value_missing: 'filter.minimum_value needs a value, and it has no value with a currency',
  value_other_currency:
    'its currency is not the one of filter.minimum_value, and amounts are never converted',
  value_below_minimum: 'its value is below filter.minimum_value',
  no_platform_name:
    'the platform needs a name of its own for each event, and event_names had none for this one',
}

function acceptedSentence(delivery: StoredDelivery): string {
  const { attemptCount, isTest, platformTraceId } = delivery
  const attempts = attemptCount === 1 ? 'the first attempt' : countAttempts(delivery)
  const test = isTest ? ' as a test event' : ''
  const trace = platformTraceId ? ` (trace ${platformTraceId})` : ''
  return `The platform accepted the event${test} with ${attempts}${trace}.`
}

function permanentSentences(delivery: StoredDelivery, message: string): string[] {
  const reason = reasonOf('failed:permanent', delivery.statusReason)
  const known = isRecognized(reason) ? reason : 'refused_by_platform'
  return PERMANENT_FAILURES[known](notSentWords(delivery), message)
}

const PERMANENT_FAILURES: Record<
  ReasonOf<'failed:permanent'>,
  (notSent: string, message: string) => string[]
> = {
  payload_expired: notSent => [
    `${notSent}: the identity payload of the event has expired, so nothing could be matched.`,
  ],
  no_platform_identity: notSent => [
    `${notSent}: the event was accepted without identifiers for this platform, which are ` +
      'made only at acceptance. Events from after the destination was connected have them.',
  ],
  no_test_code: notSent => [
    `${notSent}: it is a test event and the destination had no test_event_code, without ` +
      'which the platform would count it as live.',
  ],
  refused_before_sending: (notSent, message) => [
    `${notSent}, because the platform would reject it.`,
    message,
    SEND_AGAIN,
  ],
  purchase_failed: notSent => [
    `${notSent}: the purchase that it refunds failed at this destination, so there is no value ` +
      'to change. Replay both once the cause is removed: the refund waits for the purchase.',
  ],
  request_failed: (_, message) => [
    'The platform took the request with the event, and later processed none of it.',
    message,
  ],
  refused_by_platform: (_, message) => [
    'The platform rejected the event permanently.',
    message,
    SEND_AGAIN,
  ],
}

/** The same ID would be a duplicate, and the first body is kept. */
const SEND_AGAIN = 'Correct the data and send it under a new event_id.'

function authSentences(
  delivery: StoredDelivery,
  message: string,
  context: ExplanationContext,
): string[] {
  const reason = reasonOf('failed:auth', delivery.statusReason)
  const canReplay = isInWindow(context)
  switch (isRecognized(reason) ? reason : 'destination_refused') {
    case 'credential_unreadable':
      return [
        `${notSentWords(delivery)}: the destination's stored credential could not be opened with ` +
          "this server's key.",
        `Set the right SIGNALBOX_CREDENTIAL_KEY or a new credential${
          canReplay ? ', then replay it.' : '.'
        }`,
        canReplay ? '' : TOO_OLD_TO_REPLAY,
      ]
    case 'destination_refused':
      return [
        "The platform rejected the destination's credential or configuration.",
        message,
        canReplay ? 'Fix it, then replay the delivery.' : TOO_OLD_TO_REPLAY,
      ]
  }
}

const TOO_OLD_TO_REPLAY = 'The platform no longer accepts the event, so it cannot be replayed.'

function isInWindow({ at, windowEndsAt }: ExplanationContext): boolean {
  return windowEndsAt === null || at < windowEndsAt
}

function exhaustedSentences(
  delivery: StoredDelivery,
  message: string,
  context: ExplanationContext,
): string[] {
  const reason = reasonOf('failed:unknown', delivery.statusReason)
  const canReplay = isInWindow(context)
  switch (isRecognized(reason) ? reason : 'time_used_up') {
    case 'single_attempt':
      return [
        'The platform did not accept the test purchase, which is tried only once.',
        message,
        canReplay ? 'Send another one, or replay this one.' : 'Send another one.',
      ]
    case 'handed_back':
      return ['Not sent: the service was stopping. Send another test purchase.']
    case 'not_deduplicated':
      return [
        'The platform may have the event. It would count a copy, so the event is not sent again.',
        message,
      ]
    case 'time_used_up':
      return [`Given up after ${countAttempts(delivery)}: ${endOfWindow(context)}.`, message]
  }
}

/** The last attempt may fail hours before the window ends, when the next one would be too late. */
function endOfWindow(context: ExplanationContext): string {
  const { windowEndsAt } = context
  return windowEndsAt !== null && isInWindow(context)
    ? 'another one would come too late, because the platform stops accepting the event at ' +
        windowEndsAt.toISOString()
    : 'the platform no longer accepts the event'
}

function attemptsSentence(delivery: StoredDelivery): string {
  return delivery.attemptCount === 1
    ? 'The first attempt failed.'
    : `The last of ${countAttempts(delivery)} failed.`
}

function countAttempts({ attemptCount }: StoredDelivery): string {
  return `${attemptCount} attempt${attemptCount === 1 ? '' : 's'}`
}

function noteSentences(event: StoredEvent): string[] {
  const { notes, differingSubmissions, lastDifferingAt } = event
  const sentences: string[] = []
  if (isOfPage(event)) {
    sentences.push('The event was sent with a publishable key, which anyone can copy from a page.')
  }
  if (notes && notes.dropped.length > 0) {
    const dropped = notes.dropped.map(({ field, reason }) => `${field} (${trimmedReason(reason)})`)
    sentences.push(`Dropped on receipt: ${dropped.join(', ')}.`)
  }
  if (notes?.redacted) {
    sentences.push(describeRedactedMembers(notes.redacted))
  }
  if (notes && notes.unknown_members.length > 0) {
    sentences.push(`Ignored unknown members: ${notes.unknown_members.join(', ')}.`)
  }
  if (differingSubmissions > 0) {
    const times = differingSubmissions === 1 ? 'once' : `${differingSubmissions} times`
    const last = lastDifferingAt ? `, last at ${lastDifferingAt.toISOString()}` : ''
    sentences.push(
      `The same ID was received again ${times} with a different body${last}; ` +
        'the first body was kept.',
    )
  }
  return sentences
}

function trimmedReason(reason: string): string {
  return reason.replace(/\.$/, '')
}
