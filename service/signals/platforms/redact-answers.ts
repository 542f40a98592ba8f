import { defineMember } from '../../runtime/util/is-object.ts'
import type { OutboundEvent, Platform, SendAnswer } from './platform.ts'

/** A shorter run of a secret says nothing about it, and occurs in other words. */
const RUN_CHARACTERS = 12
const SECRET_CHARACTERS_MIN = 6
const REDACTED_SECRET = '[redacted]'

/**
 * The same platform, whose answers hold neither its credential nor what was sent, whatever its
 * plug-in reads of a response: answers are stored, shown and exported. The registry wraps each.
 */
export function withRedactedAnswers(platform: Platform): Platform {
  const { sendErasure, readReceipt } = platform
  return {
    ...platform,
    send: async (connection, events) => {
      const answer = redactSentValues(await platform.send(connection, events), events)
      return redactSecrets(redactSecretQuery(answer, platform), [connection.accessToken])
    },
    ...(sendErasure && {
      sendErasure: async (credentials, erasure) =>
        redactSecrets(await sendErasure(credentials, erasure), [credentials.accessToken]),
    }),
    ...(readReceipt && {
      readReceipt: async (credentials, receiptId) =>
        redactSecrets(await readReceipt(credentials, receiptId), [credentials.accessToken]),
    }),
    readDayCounts: async (credentials, day, source) =>
      redactSecrets(await platform.readDayCounts(credentials, day, source), [
        credentials.accessToken,
      ]),
    readMatchQuality: async credentials =>
      redactSecrets(await platform.readMatchQuality(credentials), [credentials.accessToken]),
  }
}

/**
 * A copy in which no text holds a run of a secret, as it is or in the writings in which a platform
 * may repeat it: in a URL, in JSON or in base64. Also its first characters alone are none.
 */
export function redactSecrets<Part>(part: Part, secrets: readonly string[]): Part {
  const finders = secrets.flatMap(listWritings).map(createRunFinder)
  return finders.length === 0 ? part : (redactMember(part, finders) as Part)
}

/** Whether a run of characters is a part of the secret. */
interface RunFinder {
  length: number
  has(run: string): boolean
}

function listWritings(secret: string): string[] {
  if (secret.length < SECRET_CHARACTERS_MIN) return []
  const found = [secret, encodeURIComponent(secret.toWellFormed())]
  // The secret may stand at any place of what is encoded, such as behind `Bearer `.
  for (const before of ['', ' ', '  ']) {
    const bytes = Buffer.from(`${before}${secret}`)
    for (const encoding of ['base64', 'base64url'] as const) {
      found.push(bytes.toString(encoding).slice(before === '' ? 0 : before.length + 1))
    }
  }
  found.push(Buffer.from(secret).toString('hex'), JSON.stringify(secret).slice(1, -1))
  return [...new Set(found)]
}

/** Few runs are searched; for many, a set is faster. */
const SEARCHED_RUNS_MAX = 50

function createRunFinder(writing: string): RunFinder {
  const length = Math.min(RUN_CHARACTERS, writing.length)
  let searched = 0
  let runs: Set<string> | null = null
  const has = (run: string) => {
    searched += 1
    if (searched > SEARCHED_RUNS_MAX) runs ??= listRuns(writing, length)
    return runs ? runs.has(run) : writing.includes(run)
  }
  return { length, has }
}

function listRuns(writing: string, length: number): Set<string> {
  const runs = new Set<string>()
  for (let at = 0; at + length <= writing.length; at += 1) runs.add(writing.slice(at, at + length))
  return runs
}

function redactMember(value: unknown, finders: readonly RunFinder[]): unknown {
  if (typeof value === 'string') return redactRuns(value, finders)
  if (Array.isArray(value)) return value.map(item => redactMember(item, finders))
  if (typeof value !== 'object' || value === null) return value
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return value
  const copy: Record<string, unknown> = Object.create(prototype)
  for (const [name, member] of Object.entries(value)) {
    defineMember(copy, redactRuns(name, finders), redactMember(member, finders))
  }
  return copy
}

function redactRuns(text: string, finders: readonly RunFinder[]): string {
  let redacted = ''
  for (let at = 0; at < text.length; ) {
    const end = findRunEnd(text, at, finders)
    if (end === at) redacted += text[at]
    else if (!redacted.endsWith(REDACTED_SECRET)) redacted += REDACTED_SECRET
    at = Math.max(end, at + 1)
  }
  return redacted
}

/** The end of the run of a secret that begins here; the same place without one. */
function findRunEnd(text: string, start: number, finders: readonly RunFinder[]): number {
  let end = start
  for (const { length, has } of finders) {
    let at = start
    while (at + length <= text.length && has(text.slice(at, at + length))) at += 1
    if (at > start) end = Math.max(end, at + length - 1)
  }
  return end
}

const REDACTED = 'REDACTED'

/** A platform whose secret is in the URL may repeat the URL in its answer, or an error may. */
export function redactSecretQuery(
  answer: SendAnswer,
  { secretQueryMembers = [] }: Pick<Platform, 'secretQueryMembers'>,
): SendAnswer {
  if (secretQueryMembers.length === 0) return answer
  const names = secretQueryMembers.map(name => RegExp.escape(name)).join('|')
  const value = new RegExp(`(?<=(?:^|[?&;\\s"])(?:${names})=)[^&\\s"]+`, 'gi')
  return redactStrings(answer, [value])
}
/** Shorter values occur in ordinary words and identify nobody. */
const VALUE_CHARACTERS_MIN = 6
/** An adapter may have truncated a text of this length in the middle of a value. */
const WHOLE_CHARACTERS_MAX = 499

/**
 * The answer without the identifiers that were sent, in case the platform repeats them. One answer
 * is stored for all events of a request, among them deliveries of other people, where the erasure
 * of one person would not find it.
 */
export function redactSentValues(answer: SendAnswer, events: readonly OutboundEvent[]): SendAnswer {
  if (!hasFreeText(answer)) return answer
  const text = JSON.stringify([answer.traceId, answer.error, answer.answer, answer.events])
  const lower = text.toLowerCase()
  const patterns = [...collectSentValues(events)]
    .filter(value => lower.includes(escapeAsJson(value).toLowerCase()))
    .sort((one, other) => other.length - one.length)
    .map(value => new RegExp(RegExp.escape(value), 'gi'))
  return {
    ...answer,
    traceId: answer.traceId && redactText(answer.traceId, patterns),
    error: redactStrings(answer.error, patterns),
    answer: redactStrings(answer.answer, patterns),
    ...(answer.events && { events: redactStrings(answer.events, patterns) }),
  }
}

/**
 * Whether an answer could repeat what was sent. Most answers are a number of events and an empty
 * list; anything else a platform returns may be free text.
 */
export function hasFreeText({ error, answer, events = [] }: SendAnswer): boolean {
  if (error !== null || events.some(event => event.error !== null)) return true
  return Object.entries(answer ?? {}).some(([name, member]) => !isCodeOnly(name, member))
}

function isCodeOnly(name: string, member: unknown): boolean {
  if (Array.isArray(member)) return member.length === 0
  return name === 'events_received' && typeof member === 'number'
}

function collectSentValues(events: readonly OutboundEvent[]): Set<string> {
  const values = events.flatMap(({ digests, plain, referrer, appData }) => [
    ...Object.values(digests).flat(),
    ...Object.values(plain),
    ...(referrer === null ? [] : [referrer]),
    ...Object.values(appData ?? {})
      .flat()
      .filter(isText),
  ])
  return new Set(values.filter(value => value.length >= VALUE_CHARACTERS_MIN))
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function escapeAsJson(value: string): string {
  return JSON.stringify(value).slice(1, -1)
}

function redactStrings<Part>(part: Part, patterns: readonly RegExp[]): Part {
  return JSON.parse(JSON.stringify(part), (_, member) =>
    typeof member === 'string' ? redactText(member, patterns) : member,
  )
}

function redactText(text: string, patterns: readonly RegExp[]): string {
  const whole = text.length > WHOLE_CHARACTERS_MAX ? text.replace(/\S+$/, '') : text
  return patterns.reduce((rest, pattern) => rest.replace(pattern, REDACTED), whole)
}
