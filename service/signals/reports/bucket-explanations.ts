import type { FailureReason, HeldReason } from '@signalbox/contract/reasons.ts'
import type { ALL_BUCKET_NAMES, BUCKET_NAMES } from '@signalbox/contract/reports.ts'

export type BucketName = (typeof ALL_BUCKET_NAMES)[number]
/** Those of a platform's report of a day. */
export type DayBucketName = (typeof BUCKET_NAMES)[number]

/** The figures in the sentences, besides the bucket counts. All are numbers of events. */
export interface BucketInput {
  /** Accepted on the day, but happened on another day. */
  sentOfOtherDays: number
  /** Happened on the day, but accepted on another day. */
  sentOnOtherDays: number
  unknownAttempts: number
  waiting: number
  /** More events may be waiting than were counted. */
  isWaitingTruncated: boolean
  /** Event names that only the platform has. */
  otherSenderNames: readonly string[]
  /** The events under these names. */
  measuredOtherSenders: number
  /** Unexplained extra events at the platform. */
  surplusUnexplained: number
  /** Unexplained missing events at the platform. */
  shortageUnexplained: number
  /** The platform did not list all event names. */
  isTruncated: boolean
  /** Why the browser counts could not be read. */
  browserProblem: string | null
}

const NAMES_SHOWN_MAX = 3
const NAME_CHARACTERS_MAX = 40

/** Explains each bucket to a person: what happened, in numbers, and what to do. */
export function explainBuckets(
  counts: Record<DayBucketName, number>,
  input: BucketInput,
): Record<DayBucketName, string> {
  return {
    test_events: explainTestEvents(0 - counts.test_events),
    pending: explainPending(0 - counts.pending, input),
    late_event_time: explainLateEvents(input),
    unknown_outcome: explainUnknownOutcome(0 - counts.unknown_outcome, input),
    platform_deduplicated: explainDeduplicated(counts.platform_deduplicated, input),
    other_senders: explainOtherSenders(0 - counts.other_senders, input),
  }
}

function explainTestEvents(count: number): string {
  if (count === 0) return 'No test events of this day were sent.'
  return (
    `The platform accepted ${countNoun(count, 'test event')} of this day and counts them like ` +
    'other events; our count excludes them.'
  )
}

function explainPending(count: number, { waiting, isWaitingTruncated }: BucketInput): string {
  if (waiting === 0) return 'No events of this day are waiting to be sent.'
  const waitingEvents = `${isWaitingTruncated ? 'At least ' : ''}${countNoun(waiting)} of this day`
  const arrived =
    count === 0
      ? ''
      : ` The platform may already have ${count} of them: their requests are not answered yet.`
  const verb = waiting === 1 ? 'is' : 'are'
  return `${waitingEvents} ${verb} waiting to be sent.${arrived} Make the report again later.`
}

function explainLateEvents({ sentOfOtherDays, sentOnOtherDays }: BucketInput): string {
  if (sentOfOtherDays === 0 && sentOnOtherDays === 0) {
    return 'Every event was sent on the day it happened.'
  }
  return (
    `${countNoun(sentOfOtherDays)} of other days were sent on this day, and ` +
    `${countNoun(sentOnOtherDays)} of this day were sent on other days; ` +
    'the platform counts an event on the day it happened.'
  )
}

function explainUnknownOutcome(count: number, { unknownAttempts }: BucketInput): string {
  if (unknownAttempts === 0) return 'Every attempt got an answer.'
  const attempts = countNoun(unknownAttempts, 'attempt')
  if (count === 0) return `${attempts} got no usable answer; none of them explains part of the gap.`
  return (
    `${attempts} got no usable answer; ${count} of these may have arrived anyway, ` +
    'in addition to an accepted attempt or without one.'
  )
}

function explainDeduplicated(
  count: number,
  { shortageUnexplained, isTruncated, browserProblem }: BucketInput,
): string {
  const sentences = []
  if (count > 0) {
    sentences.push(
      `The platform counts ${countNoun(count)} fewer than it accepted, and has at least as many ` +
        'with the same names from browsers: it counts an event that arrived both ways once.',
    )
  }
  if (shortageUnexplained > 0) {
    const missing = `${countNoun(shortageUnexplained)}${count > 0 ? ' more' : ''}`
    const lacks = shortageUnexplained === 1 ? 'is' : 'are'
    sentences.push(
      `${missing} ${lacks} missing at the platform, and nothing explains it: ` +
        'look for discarded events in its diagnostics.',
    )
  }
  if (count === 0 && shortageUnexplained === 0) {
    sentences.push('No missing events are explained by browsers.')
  }
  if (isTruncated)
    sentences.push('The platform lists a hundred names per hour, so rarer names may be missing.')
  if (browserProblem !== null) {
    sentences.push(`The browser counts could not be read. ${browserProblem}`)
  }
  return sentences.join(' ')
}

function explainOtherSenders(
  count: number,
  { otherSenderNames, measuredOtherSenders, surplusUnexplained }: BucketInput,
): string {
  const sentences = []
  const estimated = count - measuredOtherSenders
  if (measuredOtherSenders > 0) {
    sentences.push(
      `The platform has ${countNoun(measuredOtherSenders)} under names that we did not send ` +
        `(${listNames(otherSenderNames)}): another integration sends to this dataset.`,
    )
  }
  if (estimated > 0) {
    sentences.push(
      `${countNoun(estimated)} under names that we also send ${estimated === 1 ? 'is' : 'are'} ` +
        'attributed to another integration, because names that we do not send prove one exists.',
    )
  }
  if (surplusUnexplained > 0) {
    sentences.push(
      `The platform has ${countNoun(surplusUnexplained)} too many, and there is no sign of ` +
        'another sender to this dataset: check who else has its token.',
    )
  }
  return sentences.join(' ') || 'There is no sign of another sender to this dataset.'
}

/** Names come from callers and the platform, so control characters are removed. */
function listNames(names: readonly string[]): string {
  const plain = names.slice(0, NAMES_SHOWN_MAX).map(truncateName)
  const omitted = names.length - plain.length
  return omitted > 0 ? `${plain.join(', ')} and ${omitted} more` : plain.join(', ')
}

function truncateName(name: string): string {
  const plain = name.replaceAll(/\p{C}+/gu, ' ')
  return plain.length > NAME_CHARACTERS_MAX ? `${plain.slice(0, NAME_CHARACTERS_MAX)}...` : plain
}

export function countNoun(count: number, noun = 'event'): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Why a destination did not get an event that was accepted, or did not keep it. */
const OUTCOME_SENTENCES: Record<FailureReason | HeldReason, string> = {
  destination_refused: 'The platform refused the credential or the configuration.',
  credential_unreadable: 'The stored credential could not be opened.',
  refused_by_platform: 'The platform refused the content of the event.',
  request_failed: 'The platform took the request and later processed none of it.',
  refused_before_sending: 'The platform would have refused the event, so it was not sent.',
  payload_expired: 'The identity had expired before the event could be sent.',
  no_platform_identity: 'The event has no identifier that the platform matches.',
  no_test_code: 'The destination had no code for test events.',
  time_used_up: 'Every attempt failed until the time for retries was over.',
  single_attempt: 'The only attempt failed.',
  not_deduplicated: 'The platform removes no copies, so the event is not sent a second time.',
  handed_back: 'The event was handed back unsent until the time for retries was over.',
  outside_window: 'The event was older than the platform takes.',
  no_signal: 'Consent signals came with the event, and none of them grants this platform.',
  possible_refusal: 'A signal of consent could not be read and may be a refusal.',
  consent_refused_for_platform: 'The person refused this platform.',
  consent_not_decided: 'Consent was not decided for this platform when the event was accepted.',
  consent_withdrawn: 'The person withdrew consent before the event was sent.',
  withdrawn_by_page: 'A page withdrew consent before the event was sent.',
  erased: 'The person was erased before the event was sent.',
  no_destination: 'The tracker had no destination.',
  sent_by_secret: 'The server sent the same event.',
  name_not_selected: "The destination's filter does not select the event name.",
  action_source_not_selected: "The destination's filter does not select the action source.",
  key_not_selected: "The destination's filter does not select the kind of key.",
  test_not_selected: "The destination's filter does not select test events.",
  live_not_selected: "The destination's filter selects test events only.",
  value_missing: "The destination's filter needs a value, and the event has none.",
  value_other_currency: "The value is in another currency than that of the destination's filter.",
  value_below_minimum: "The value is below the minimum of the destination's filter.",
  no_platform_name: "The destination's map has no name of the platform for the event.",
  purchase_failed: 'A refund: the platform has not got its purchase, which failed.',
  purchase_withdrawn: 'A refund: consent to its purchase was withdrawn.',
  purchase_erased: 'A refund: the person of its purchase was erased.',
  value_already_told: 'A refund: the platform already has the value that it leaves.',
  refund_of_page: 'A refund of a page, which changes no order.',
  refund_without_order: 'A refund that names no purchase.',
  purchase_unknown: 'A refund: its purchase was not stored within a day.',
  several_purchases: 'A refund: several purchases have its order ID.',
  too_many_refunds: 'A refund of an order with more refunds than are added up.',
  value_not_changed: 'A refund that does not change the value of its order.',
  purchase_not_sent: 'A refund: this destination was not sent its purchase.',
  purchase_unconfirmed: 'A refund: the platform did not confirm its purchase.',
  purchase_payload_expired: 'A refund: the identity of its purchase has expired.',
  restatement_refused: 'A refund: the platform would not take its purchase with a new value now.',
}

export function explainOutcome(reason: string): string {
  const isKnown = Object.hasOwn(OUTCOME_SENTENCES, reason)
  const sentences: Record<string, string> = OUTCOME_SENTENCES
  return (isKnown && sentences[reason]) || 'Another version of the service knows this reason.'
}
