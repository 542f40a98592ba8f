import type { BUCKET_NAMES } from '@signalbox/contract/reports.ts'

export type BucketName = (typeof BUCKET_NAMES)[number]

/** What the sentences speak of beside the counts. All are numbers of events. */
export interface BucketGrounds {
  /** Accepted on the day and of another day; of the day and accepted on another. */
  sentOfOtherDays: number
  sentOnOtherDays: number
  unknownAttempts: number
  waiting: number
  /** More may wait than was counted. */
  isWaitingCut: boolean
  /** Names that the platform has and we did not send, and their events. */
  othersNames: readonly string[]
  measuredOthers: number
  /** What nothing explains: more at the platform, and fewer. */
  surplusUnexplained: number
  shortageUnexplained: number
  /** The platform left out names. */
  isCut: boolean
  /** Why the browsers' counts could not be read. */
  browserProblem: string | null
}

const NAMES_SHOWN_MAX = 3
const NAME_CHARACTERS_MAX = 40

/** What each bucket says to a person: what happened, in numbers, and what to do. */
export function bucketSentences(
  counts: Record<BucketName, number>,
  grounds: BucketGrounds,
): Record<BucketName, string> {
  return {
    test_events: testSentence(0 - counts.test_events),
    pending: pendingSentence(0 - counts.pending, grounds),
    late_event_time: lateSentence(grounds),
    unknown_outcome: unknownSentence(0 - counts.unknown_outcome, grounds),
    platform_deduplicated: deduplicatedSentence(counts.platform_deduplicated, grounds),
    other_senders: othersSentence(0 - counts.other_senders, grounds),
  }
}

function testSentence(count: number): string {
  if (count === 0) return 'No test events of this day were sent.'
  return (
    `The platform took ${events(count, 'test event')} of this day and counts them as any other; ` +
    'our count leaves them out.'
  )
}

function pendingSentence(count: number, { waiting, isWaitingCut }: BucketGrounds): string {
  if (waiting === 0) return 'Nothing of this day waits to be sent.'
  const waits = `${isWaitingCut ? 'At least ' : ''}${events(waiting)} of this day`
  const arrived =
    count === 0
      ? ''
      : ` The platform may have ${count} of them already: their requests are not answered yet.`
  const verb = waiting === 1 ? 'waits' : 'wait'
  return `${waits} still ${verb} to be sent.${arrived} Make the report again when they are through.`
}

function lateSentence({ sentOfOtherDays, sentOnOtherDays }: BucketGrounds): string {
  if (sentOfOtherDays === 0 && sentOnOtherDays === 0) {
    return 'Every event was sent on the day on which it happened.'
  }
  return (
    `${events(sentOfOtherDays)} of other days went out on this day, and ` +
    `${events(sentOnOtherDays)} of this day on others; ` +
    'the platform counts an event on the day on which it happened.'
  )
}

function unknownSentence(count: number, { unknownAttempts }: BucketGrounds): string {
  if (unknownAttempts === 0) return 'Every attempt got an answer.'
  const attempts = events(unknownAttempts, 'attempt')
  if (count === 0) return `${attempts} got no usable answer, and no event is too many for that.`
  return (
    `${attempts} got no usable answer; of these, ${count} can have arrived all the same, ` +
    'beside the attempt that was accepted or without one.'
  )
}

function deduplicatedSentence(
  count: number,
  { shortageUnexplained, isCut, browserProblem }: BucketGrounds,
): string {
  const sentences = []
  if (count > 0) {
    sentences.push(
      `The platform counts ${events(count)} fewer than it took, and it has at least as many of ` +
        'the same names from browsers: it counts an event that came both ways once.',
    )
  }
  if (shortageUnexplained > 0) {
    const missing = `${events(shortageUnexplained)}${count > 0 ? ' more' : ''}`
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

function othersSentence(
  count: number,
  { othersNames, measuredOthers, surplusUnexplained }: BucketGrounds,
): string {
  const sentences = []
  const estimated = count - measuredOthers
  if (measuredOthers > 0) {
    sentences.push(
      `The platform has ${events(measuredOthers)} under names that we did not send ` +
        `(${shown(othersNames)}): another integration sends to this dataset.`,
    )
  }
  if (estimated > 0) {
    sentences.push(
      `${events(estimated)} of names that we send as well ${estimated === 1 ? 'is' : 'are'} ` +
        'put down to another integration, since names that we do not send show that there is one.',
    )
  }
  if (surplusUnexplained > 0) {
    sentences.push(
      `The platform has ${events(surplusUnexplained)} too many, and nothing shows that anybody ` +
        'else sends to this dataset: ask who else has its token.',
    )
  }
  return sentences.join(' ') || 'Nothing shows that anybody else sends to this dataset.'
}

/** Names come from callers and from the platform: none may break the line it is shown in. */
function shown(names: readonly string[]): string {
  const plain = names.slice(0, NAMES_SHOWN_MAX).map(shortened)
  const left = names.length - plain.length
  return left > 0 ? `${plain.join(', ')} and ${left} more` : plain.join(', ')
}

function shortened(name: string): string {
  const plain = name.replaceAll(/\p{C}+/gu, ' ')
  return plain.length > NAME_CHARACTERS_MAX ? `${plain.slice(0, NAME_CHARACTERS_MAX)}...` : plain
}

function events(count: number, noun = 'event'): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
