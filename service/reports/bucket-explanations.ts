import type { BUCKET_NAMES } from '@signalbox/contract/reports.ts'

export type BucketName = (typeof BUCKET_NAMES)[number]

/** What the sentences speak of beside the counts. All are numbers of events. */
export interface BucketInput {
  /** Accepted on the day and of another day; of the day and accepted on another. */
  sentOfOtherDays: number
  sentOnOtherDays: number
  unknownAttempts: number
  waiting: number
  /** More may wait than was counted. */
  isWaitingTruncated: boolean
  /** Names that the platform has and we did not send, and their events. */
  otherSenderNames: readonly string[]
  measuredOtherSenders: number
  /** What nothing explains: more at the platform, and fewer. */
  surplusUnexplained: number
  shortageUnexplained: number
  /** The platform left out names. */
  isTruncated: boolean
  /** Why the browsers' counts could not be read. */
  browserProblem: string | null
}

const NAMES_SHOWN_MAX = 3
const NAME_CHARACTERS_MAX = 40

/** What each bucket says to a person: what happened, in numbers, and what to do. */
export function explainBuckets(
  counts: Record<BucketName, number>,
  grounds: BucketInput,
): Record<BucketName, string> {
  return {
    test_events: explainTestEvents(0 - counts.test_events),
    pending: explainPending(0 - counts.pending, grounds),
    late_event_time: explainLateEvents(grounds),
    unknown_outcome: explainUnknownOutcome(0 - counts.unknown_outcome, grounds),
    platform_deduplicated: explainDeduplicated(counts.platform_deduplicated, grounds),
    other_senders: explainOtherSenders(0 - counts.other_senders, grounds),
  }
}

function explainTestEvents(count: number): string {
  if (count === 0) return 'No test events of this day were sent.'
  return (
    `The platform took ${countNoun(count, 'test event')} of this day and counts them as any other; ` +
    'our count leaves them out.'
  )
}

function explainPending(
  count: number,
  { waiting, isWaitingTruncated: isWaitingCut }: BucketInput,
): string {
  if (waiting === 0) return 'Nothing of this day waits to be sent.'
  const waits = `${isWaitingCut ? 'At least ' : ''}${countNoun(waiting)} of this day`
  const arrived =
    count === 0
      ? ''
      : ` The platform may have ${count} of them already: their requests are not answered yet.`
  const verb = waiting === 1 ? 'waits' : 'wait'
  return `${waits} still ${verb} to be sent.${arrived} Make the report again when they are through.`
}

function explainLateEvents({ sentOfOtherDays, sentOnOtherDays }: BucketInput): string {
  if (sentOfOtherDays === 0 && sentOnOtherDays === 0) {
    return 'Every event was sent on the day on which it happened.'
  }
  return (
    `${countNoun(sentOfOtherDays)} of other days went out on this day, and ` +
    `${countNoun(sentOnOtherDays)} of this day on others; ` +
    'the platform counts an event on the day on which it happened.'
  )
}

function explainUnknownOutcome(count: number, { unknownAttempts }: BucketInput): string {
  if (unknownAttempts === 0) return 'Every attempt got an answer.'
  const attempts = countNoun(unknownAttempts, 'attempt')
  if (count === 0) return `${attempts} got no usable answer, and no event is too many for that.`
  return (
    `${attempts} got no usable answer; of these, ${count} can have arrived all the same, ` +
    'beside the attempt that was accepted or without one.'
  )
}

function explainDeduplicated(
  count: number,
  { shortageUnexplained, isTruncated: isCut, browserProblem }: BucketInput,
): string {
  const sentences = []
  if (count > 0) {
    sentences.push(
      `The platform counts ${countNoun(count)} fewer than it took, and it has at least as many of ` +
        'the same names from browsers: it counts an event that came both ways once.',
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
    sentences.push('Nothing is missing at the platform that browsers would explain.')
  }
  if (isCut) sentences.push('It lists a hundred names an hour, so rarer names may be missing.')
  if (browserProblem !== null) {
    sentences.push(`What browsers sent could not be read. ${browserProblem}`)
  }
  return sentences.join(' ')
}

function explainOtherSenders(
  count: number,
  {
    otherSenderNames: othersNames,
    measuredOtherSenders: measuredOthers,
    surplusUnexplained,
  }: BucketInput,
): string {
  const sentences = []
  const estimated = count - measuredOthers
  if (measuredOthers > 0) {
    sentences.push(
      `The platform has ${countNoun(measuredOthers)} under names that we did not send ` +
        `(${listNames(othersNames)}): another integration sends to this dataset.`,
    )
  }
  if (estimated > 0) {
    sentences.push(
      `${countNoun(estimated)} of names that we send as well ${estimated === 1 ? 'is' : 'are'} ` +
        'put down to another integration, since names that we do not send show that there is one.',
    )
  }
  if (surplusUnexplained > 0) {
    sentences.push(
      `The platform has ${countNoun(surplusUnexplained)} too many, and nothing shows that anybody ` +
        'else sends to this dataset: ask who else has its token.',
    )
  }
  return sentences.join(' ') || 'Nothing shows that anybody else sends to this dataset.'
}

/** Names come from callers and from the platform: none may break the line it is shown in. */
function listNames(names: readonly string[]): string {
  const plain = names.slice(0, NAMES_SHOWN_MAX).map(truncateName)
  const left = names.length - plain.length
  return left > 0 ? `${plain.join(', ')} and ${left} more` : plain.join(', ')
}

function truncateName(name: string): string {
  const plain = name.replaceAll(/\p{C}+/gu, ' ')
  return plain.length > NAME_CHARACTERS_MAX ? `${plain.slice(0, NAME_CHARACTERS_MAX)}...` : plain
}

function countNoun(count: number, noun = 'event'): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
