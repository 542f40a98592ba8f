import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { StoredDelivery } from '../delivery/delivery-store.ts'
import type { StoredEvent } from '../events/store.ts'

/**
 * Explains what happened to a delivery, why, and what happens next, for marketers and engineers.
 * Dropped members and differing duplicates of the event follow in separate sentences.
 */
export function explainDelivery(delivery: StoredDelivery, event: StoredEvent): string {
  return [...statusSentences(delivery, event), replaySentence(delivery), ...noteSentences(event)]
    .filter(text => text !== '')
    .join(' ')
}

function statusSentences(delivery: StoredDelivery, event: StoredEvent): string[] {
  const status = delivery.status as DeliveryStatus
  const message = platformMessage(delivery)
  switch (status) {
    case 'queued':
      return [queuedSentence(delivery)]
    case 'sent':
      return ['Sent to the platform; its answer is not known yet.']
    case 'accepted':
      return [acceptedSentence(delivery), 'Nothing more happens.']
    case 'retrying':
      return [attemptsSentence(delivery), message, nextSentence(delivery)]
    case 'failed:auth':
      return authSentences(delivery, message)
    case 'failed:permanent':
      return permanentSentences(delivery, message)
    case 'failed:unknown':
      return exhaustedSentences(delivery, message)
    case 'expired':
      return [
        `Not sent: the event of ${event.eventTime.toISOString()} is older than the platform ` +
          'accepts. It stays in the ledger.',
      ]
    case 'skipped:consent':
      return [consentSentence(delivery, event)]
    case 'skipped:no_destination':
      return ['Not sent: the tracker has no destination. Connect one and send new events.']
    case 'skipped:duplicate':
      return ['Not sent: the same event has already been delivered to this destination.']
  }
}

function queuedSentence({ destinationProblem, statusReason, replayedAt }: StoredDelivery): string {
  if (destinationProblem === null) {
    return statusReason === 'replayed' && replayedAt
      ? `Waiting to be sent again: it was replayed at ${replayedAt.toISOString()}.`
      : 'Waiting to be sent with the next batch to this destination.'
  }
  return (
    `Waiting: the destination is paused (${toSentence(destinationProblem)}) ` +
    'It is sent as soon as the destination works again; no attempt is used up.'
  )
}

function acceptedSentence(delivery: StoredDelivery): string {
  const { attemptCount, isTest, platformTraceId } = delivery
  const attempts = attemptCount === 1 ? 'the first attempt' : countAttempts(delivery)
  const test = isTest ? ' as a test event' : ''
  const trace = platformTraceId ? ` (trace ${platformTraceId})` : ''
  return `The platform accepted the event${test} with ${attempts}${trace}.`
}

function permanentSentences({ statusReason }: StoredDelivery, message: string): string[] {
  switch (statusReason) {
    case 'payload_expired':
      return [
        'Not sent: the identity payload of the event has expired, so nothing could be matched.',
      ]
    case 'no_platform_identity':
      return [
        'Not sent: the event was accepted without identifiers for this platform, which are made ' +
          'only at acceptance. Events from after the destination was connected have them.',
      ]
    case 'no_test_code':
      return [
        'Not sent: it is a test event and the destination has no test_event_code, without which ' +
          'the platform would count it as live.',
      ]
    case 'refused_before_sending':
      return ['Not sent, because the platform would reject it.', message, SEND_AGAIN]
    default:
      return ['The platform rejected the event permanently.', message, SEND_AGAIN]
  }
}

/** The same ID would be a duplicate, and the first body is kept. */
const SEND_AGAIN = 'Correct the data and send it under a new event_id.'

function authSentences({ statusReason }: StoredDelivery, message: string): string[] {
  if (statusReason === 'credential_unreadable') {
    return [
      "Not sent: the destination's stored credential could not be opened with this server's key.",
      'Set the right SIGNALBOX_CREDENTIAL_KEY or a new credential, then replay it.',
    ]
  }
  return [
    "The platform rejected the destination's credential or configuration.",
    message,
    'Fix it, then replay the delivery.',
  ]
}

function exhaustedSentences(delivery: StoredDelivery, message: string): string[] {
  switch (delivery.statusReason) {
    case 'single_attempt':
      return [
        'The platform did not accept the test purchase, which is tried only once.',
        message,
        'Send another one, or replay this one.',
      ]
    case 'handed_back':
      return ['Not sent: the service was stopping. Send another test purchase.']
    default:
      return [
        `Given up after ${countAttempts(delivery)}: the platform no longer accepts the event.`,
        message,
      ]
  }
}

/** Meta ignores an event ID that it receives again within 48 hours. */
const DEDUPLICATION_MILLISECONDS = 48 * 3_600_000

function replaySentence({ replayedAt, firstSentAt }: StoredDelivery): string {
  if (!replayedAt || !firstSentAt) return ''
  const isLate = Number(replayedAt) - Number(firstSentAt) > DEDUPLICATION_MILLISECONDS
  if (!isLate) return ''
  return (
    `It was replayed at ${replayedAt.toISOString()}, and first sent more than 48 hours before, ` +
    'so the platform may count it twice.'
  )
}

function consentSentence({ statusReason }: StoredDelivery, event: StoredEvent): string {
  if (statusReason === 'erased') {
    return (
      "Not sent: the person's data was erased on request. " +
      'The event stays in the ledger, without identity.'
    )
  }
  if (statusReason === 'consent_withdrawn') {
    const reason = event.consentCapturedAt
      ? `the consent of ${event.consentCapturedAt.toISOString()} does not overrule that: it ` +
        'would have to be captured more than 5 minutes after the withdrawal, and no later than ' +
        'the receipt of the event'
      : 'no later consent is known'
    return `Not sent: the visitor withdrew consent, and ${reason}. It stays in the ledger.`
  }
  return (
    'Not sent: consent signals came with the event, but none of them could be read as granted ' +
    `(${statusReason}). It stays in the ledger.`
  )
}

function platformMessage({ lastError }: StoredDelivery): string {
  if (!lastError) return ''
  const code = lastError.code === null ? '' : `Code ${formatCode(lastError)}: `
  const message = toSentence(lastError.user_message || lastError.message)
  return message === '' ? '' : `${code}${message}`
}

function formatCode({ code, subcode }: { code: number | null; subcode: number | null }): string {
  return subcode === null ? String(code) : `${code}/${subcode}`
}

function attemptsSentence(delivery: StoredDelivery): string {
  return delivery.attemptCount === 1
    ? 'The first attempt failed.'
    : `The last of ${countAttempts(delivery)} failed.`
}

function nextSentence({ nextAttemptAt }: StoredDelivery): string {
  return nextAttemptAt ? `It is tried again at ${nextAttemptAt.toISOString()}.` : ''
}

function countAttempts({ attemptCount }: StoredDelivery): string {
  return `${attemptCount} attempt${attemptCount === 1 ? '' : 's'}`
}

/** Texts of the platform come with or without a period, in any case and any language. */
function toSentence(text: string): string {
  const trimmed = text.trim().replace(/[.\s]+$/, '')
  if (trimmed === '') return ''
  const end = /[!?…。！？]$/.test(trimmed) ? '' : '.'
  return `${trimmed.slice(0, 1).toUpperCase()}${trimmed.slice(1)}${end}`
}

function noteSentences({ notes, differingSubmissions, lastDifferingAt }: StoredEvent): string[] {
  const sentences: string[] = []
  if (notes && notes.dropped.length > 0) {
    const dropped = notes.dropped.map(({ field, reason }) => `${field} (${trimmedReason(reason)})`)
    sentences.push(`Dropped on receipt: ${dropped.join(', ')}.`)
  }
  if (notes?.redacted) {
    sentences.push(`Identifiers replaced by tokens in: ${notes.redacted.join(', ')}.`)
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
