import { isRecognized } from '@signalbox/contract/closed-set.ts'
import { type BackoffCause, reasonOf } from '@signalbox/contract/reasons.ts'
import { LEASE_SECONDS_MAX } from '../../runtime/settings/settings.ts'
import type { StoredEvent } from '../events/event-store.ts'
import type { Order } from '../events/order-value.ts'
import type { PageWithdrawal } from '../events/page-withdrawal-store.ts'
import type { StoredAttempt } from './attempt-store.ts'
import type { StoredDelivery } from './delivery-store.ts'
import { findPauseReason } from './destination-health.ts'
import { purchaseWaitSentence } from './order-explanation.ts'
import type { Match } from './page-event-store.ts'
import { heldSentence } from './page-explanation.ts'
import type { StoredReceipt } from './receipt-store.ts'
import { WINDOW_MARGIN_SECONDS } from './review-deliveries.ts'

/** What an explanation needs besides the rows of the delivery and its event. */
export interface ExplanationContext {
  /** The time of the read. */
  at: Date
  /** The stored requests that contained the event, and perhaps others. */
  attempts: readonly StoredAttempt[]
  /** What the platform says about these requests later, if it does. */
  receipts?: readonly StoredReceipt[]
  /** When the platform stops accepting the event; null when it is not known. */
  windowEndsAt: Date | null
  /** The withdrawal that a page sent for the visitor of the event; null when there is none. */
  pageWithdrawals?: readonly PageWithdrawal[]
  /** Deliveries of the same event in the other space; left out, none are known. */
  matches?: readonly Match[]
  /** The order of the event; null or left out: it names none. */
  order?: Order | null
  /** Whether the platform can give a purchase a new value; left out: not known. */
  restatesValues?: boolean
}

/** The clocks of two machines may differ by this much. */
const CLOCK_TOLERANCE_SECONDS = 5

/**
 * Explains what a delivery that is not final waits for, as things are at the time of the read: a
 * paused destination, an open circuit, a pause that the platform asked for, the time of its next
 * attempt, or the next batch. Each time that it names as the next one is in the future.
 */
export function explainWaiting(
  delivery: StoredDelivery,
  event: StoredEvent,
  context: ExplanationContext,
): string[] {
  const ending = endingSentence(delivery, event, context)
  if (ending !== null) return [ending]
  if (delivery.destinationProblem !== null) return pausedSentences(delivery, context)
  const { at } = context
  const backoff = backoffClause(delivery, at)
  const due =
    heldSentence(delivery, context) ??
    purchaseWaitSentence(delivery, event, context) ??
    dueSentence(delivery, at)
  if (due !== '') return [due, toSentence(backoff)]
  return [backoff === '' ? nextBatchSentence(delivery) : `Waiting: ${backoff}.`]
}

/** Explains `sent`: a worker holds the delivery, or held it when it was lost. */
export function explainSending(
  delivery: StoredDelivery,
  event: StoredEvent,
  context: ExplanationContext,
): string[] {
  const secondsLeft = delivery.leaseSecondsLeft ?? 0
  if (secondsLeft <= 0) {
    const { updatedAt } = delivery
    const since = updatedAt ? ` at ${updatedAt.toISOString()}` : ''
    return [
      `A worker began to send it${since} and was lost before it recorded an answer.`,
      updatedAt && isAhead(updatedAt, context.at) ? CLOCK_AHEAD : '',
      ...explainWaiting(delivery, event, context),
    ]
  }
  const sending = 'Being sent to the platform; its answer is not known yet.'
  if (secondsLeft <= LEASE_SECONDS_MAX) return [sending]
  return [
    sending,
    `No other worker may send it for ${Math.round(secondsLeft)} seconds, which is longer than ` +
      'any lease: the clock of the database was set back.',
  ]
}

/** What a worker finds when it reviews the delivery: it ends without being sent. */
function endingSentence(
  { attemptCount, isTest, hasTestCode }: StoredDelivery,
  { payload, eventTime }: StoredEvent,
  { at, windowEndsAt }: ExplanationContext,
): string | null {
  const subject = `It will not be sent${attemptCount > 0 ? ' again' : ''}`
  if (payload === null) return `${subject}: the identity payload of the event has expired.`
  if (windowEndsAt && secondsBetween(at, windowEndsAt) <= WINDOW_MARGIN_SECONDS) {
    return (
      `${subject}: the event of ${eventTime.toISOString()} is older than the platform accepts. ` +
      'Its final status follows when a worker reaches it.'
    )
  }
  if (!isTest || hasTestCode) return null
  return (
    `${subject} unless the destination gets a test_event_code, without which the platform would ` +
    'count the test event as live.'
  )
}

function pausedSentences(
  delivery: StoredDelivery,
  { at, windowEndsAt }: ExplanationContext,
): string[] {
  const { destinationProblem, nextProbeAt, nextAttemptAt } = delivery
  const isLater = nextAttemptAt !== null && nextAttemptAt > at
  const pauseReason = findPauseReason(destinationProblem)
  if (pauseReason === 'destination_disconnected') return [DISCONNECTED]
  const isByPerson = pauseReason === 'paused_by_user'
  return [
    isByPerson
      ? 'Waiting: a person paused the destination. It is sent when a person resumes the ' +
        'destination; no attempt is used up.'
      : `Waiting: the destination is paused (${toSentence(destinationProblem ?? '')}) ` +
        'It is sent as soon as the destination works again; no attempt is used up.',
    isLater ? `It is not sent before ${nextAttemptAt.toISOString()}.` : '',
    nextProbeAt && nextProbeAt > at ? `One event tries it at ${nextProbeAt.toISOString()}.` : '',
    windowEndsAt ? `The platform accepts the event until ${windowEndsAt.toISOString()}.` : '',
  ]
}

const DISCONNECTED =
  'It will not be sent: a person disconnected the destination. Its final status follows when a ' +
  'worker reaches it.'

/** Explains `skipped:no_destination`. */
export function withoutDestinationSentence({ statusReason }: StoredDelivery): string {
  if (statusReason === 'disconnected') {
    return 'Not sent: a person disconnected the destination before it was sent.'
  }
  return (
    'Not sent: the tracker had no destination when the event was received. Connect one and send ' +
    'new events.'
  )
}

/** Empty for a delivery that is due. */
function dueSentence(delivery: StoredDelivery, at: Date): string {
  const { status, statusReason, nextAttemptAt, lastError, createdAt, updatedAt } = delivery
  if (!nextAttemptAt || nextAttemptAt <= at) return ''
  const due = nextAttemptAt.toISOString()
  if (statusReason === 'test_purchase') {
    return `Its request sends it now. If the request ends early, a worker sends it after ${due}.`
  }
  const clock = clockSentence(updatedAt ?? createdAt, at)
  // Retries that did not reach the platform are brought forward when it answers again.
  const isBroughtForward = status === 'retrying' && lastError?.http_status === null
  const earlier = isBroughtForward ? ', or as soon as the platform answers again' : ''
  const verb = status === 'queued' ? 'sent after' : 'tried again at'
  return `It is ${verb} ${due}${earlier}.${clock}`
}

/** The row was written in the future: a clock was set back since, or runs ahead of this one. */
function clockSentence(writtenAt: Date, at: Date): string {
  if (!isAhead(writtenAt, at)) return ''
  const seconds = Math.round(secondsBetween(at, writtenAt))
  return (
    ` It waits because of a clock that was set back or runs ahead: the delivery was last changed ` +
    `${seconds} seconds after the present time of this server.`
  )
}

const CLOCK_AHEAD = 'That is after the present time of this server: a clock was set back.'

function isAhead(time: Date, at: Date): boolean {
  return secondsBetween(at, time) > CLOCK_TOLERANCE_SECONDS
}

const PAUSE_CLAUSES: Record<Exclude<BackoffCause, 'unreachable'>, string> = {
  throttled: 'the platform asked for a pause until',
  request_limit:
    'the requests that the destinations with this key share are used up, and there are more at',
}

/** Why nothing is sent to the destination now, or only little; else empty. */
function backoffClause({ backoff, nextAttemptAt }: StoredDelivery, at: Date): string {
  if (backoff === null) return ''
  const isOver = backoff.until <= at
  const until = backoff.until.toISOString()
  switch (backoff.cause) {
    case 'throttled':
    case 'request_limit': {
      const isAfterwards = nextAttemptAt !== null && nextAttemptAt >= backoff.until
      if (isOver || isAfterwards) return ''
      const cause = PAUSE_CLAUSES[backoff.cause]
      return `${cause} ${until}; no attempt is used up`
    }
    case 'unreachable': {
      const outage = `the platform has given no usable answer since ${backoff.since.toISOString()}`
      return isOver
        ? `${outage}; single requests with a few events try it until one succeeds`
        : `${outage}, and the next request tries it after ${until}; no attempt is used up before`
    }
  }
}

function nextBatchSentence({ status, statusReason, ...delivery }: StoredDelivery): string {
  const { nextAttemptAt, replayedAt } = delivery
  if (status === 'sent') return 'Another worker sends it again with the next batch.'
  if (status === 'retrying' && nextAttemptAt) {
    return `It was due at ${nextAttemptAt.toISOString()} and is tried again with the next batch.`
  }
  const reason = reasonOf('queued', statusReason)
  switch (isRecognized(reason) ? reason : 'accepted_for_delivery') {
    case 'replayed':
      return replayedAt
        ? `Waiting to be sent again: it was replayed at ${replayedAt.toISOString()}.`
        : NEXT_BATCH
    case 'withdrawal_lifted':
      return 'Waiting to be sent: the withdrawal that stopped it was lifted.'
    case 'accepted_for_delivery':
    case 'held_for_secret':
    case 'waiting_for_purchase':
    case 'test_purchase':
    case 'handed_back':
    case 'destination_refused':
      return NEXT_BATCH
  }
}

const NEXT_BATCH = 'Waiting to be sent with the next batch to this destination.'

function secondsBetween(from: Date, until: Date): number {
  return (until.getTime() - from.getTime()) / 1_000
}

/** The platform's last error as a sentence, with its code; empty when there was none. */
export function platformMessage({ lastError }: Pick<StoredDelivery, 'lastError'>): string {
  if (!lastError) return ''
  const code = lastError.code === null ? '' : `Code ${formatCode(lastError)}: `
  const message = toSentence(lastError.user_message || lastError.message)
  return message === '' ? '' : `${code}${message}`
}

function formatCode({ code, subcode }: { code: number | null; subcode: number | null }): string {
  return subcode === null ? String(code) : `${code}/${subcode}`
}

/** Texts of the platform come with or without a period, in any case and any language. */
function toSentence(text: string): string {
  const trimmed = text.trim().replace(/[.\s]+$/, '')
  if (trimmed === '') return ''
  const end = /[!?…。！？]$/.test(trimmed) ? '' : '.'
  return `${trimmed.slice(0, 1).toUpperCase()}${trimmed.slice(1)}${end}`
}
