import type { OutboundEvent } from '../platforms/platform.ts'
import type { SendAnswer } from '../platforms/send-outcome.ts'
import { hasWords } from './has-words.ts'

const REDACTED = 'REDACTED'
/** Shorter ones are in ordinary words, and tell nobody apart. */
const VALUE_CHARACTERS_MIN = 6
/** An adapter may have cut a text of this length in the middle of a value. */
const WHOLE_CHARACTERS_MAX = 499

/**
 * The answer without whatever identity was sent, in case that the platform repeats it. One answer
 * is written down for all events of a request, in deliveries of other people too, where nobody
 * would find it when one of them is erased.
 */
export function withoutSentValues(
  answer: SendAnswer,
  events: readonly OutboundEvent[],
): SendAnswer {
  if (!hasWords(answer)) return answer
  const words = JSON.stringify([answer.error, answer.answer]).toLowerCase()
  const repeated = [...sentValues(events)]
    .filter(value => words.includes(inJson(value)))
    .sort((one, other) => other.length - one.length)
    .map(value => new RegExp(RegExp.escape(value), 'gi'))
  return {
    ...answer,
    error: cleaned(answer.error, repeated),
    answer: cleaned(answer.answer, repeated),
  }
}

function sentValues(events: readonly OutboundEvent[]): Set<string> {
  const values = events.flatMap(({ digests, plain }) => [
    ...Object.values(digests).flat(),
    ...Object.values(plain),
  ])
  return new Set(values.filter(value => value.length >= VALUE_CHARACTERS_MIN))
}

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1).toLowerCase()
}

function cleaned<Part>(part: Part, repeated: readonly RegExp[]): Part {
  return JSON.parse(JSON.stringify(part), (_, member) =>
    typeof member === 'string' ? cleanedText(member, repeated) : member,
  )
}

function cleanedText(text: string, repeated: readonly RegExp[]): string {
  const whole = text.length > WHOLE_CHARACTERS_MAX ? text.replace(/\S+$/, '') : text
  return repeated.reduce((rest, value) => rest.replace(value, REDACTED), whole)
}
