import type { OutboundEvent, SendAnswer } from '../platforms/platform.ts'

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
export function redactSentValues(answer: SendAnswer, events: readonly OutboundEvent[]): SendAnswer {
  if (!hasFreeText(answer)) return answer
  const words = JSON.stringify([answer.error, answer.answer]).toLowerCase()
  const repeated = [...sentValues(events)]
    .filter(value => words.includes(inJson(value)))
    .sort((one, other) => other.length - one.length)
    .map(value => new RegExp(RegExp.escape(value), 'gi'))
  return {
    ...answer,
    error: redactMember(answer.error, repeated),
    answer: redactMember(answer.answer, repeated),
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

function redactMember<Part>(part: Part, repeated: readonly RegExp[]): Part {
  return JSON.parse(JSON.stringify(part), (_, member) =>
    typeof member === 'string' ? redactText(member, repeated) : member,
  )
}

function redactText(text: string, repeated: readonly RegExp[]): string {
  const whole = text.length > WHOLE_CHARACTERS_MAX ? text.replace(/\S+$/, '') : text
  return repeated.reduce((rest, value) => rest.replace(value, REDACTED), whole)
}

/**
 * Whether an answer could repeat anything of what was sent. Most are a number of events and an
 * empty list, which tell nothing of anybody; whatever else a platform says may be words.
 */
export function hasFreeText({ error, answer }: SendAnswer): boolean {
  if (error !== null) return true
  return Object.entries(answer ?? {}).some(([name, member]) => !isCodeOnly(name, member))
}

function isCodeOnly(name: string, member: unknown): boolean {
  if (Array.isArray(member)) return member.length === 0
  return name === 'events_received' && typeof member === 'number'
}
