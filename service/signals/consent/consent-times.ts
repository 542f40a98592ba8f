import { LRUCache } from 'lru-cache'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { readAnswer } from './consent-answers.ts'
import { findMeaning } from './consent-forms.ts'
import type { NameMeaning } from './consent-names.ts'
import {
  addSubject,
  type Member,
  type Place,
  resolveSubject,
  type Subject,
} from './consent-place.ts'
import { type CapturedAt, isCapturedAfterOptOut } from './consent-signal.ts'
import type { ConsentStatement, ConsentStatements } from './consent-statement.ts'
import { REFUSAL_STEM, WORD_KINDS } from './consent-vocabulary.ts'
import { splitWords } from './consent-words.ts'

/**
 * Reads when a refusal was made: `advertising_revoked_at: "2026-11-20T10:00:00Z"`. A name that
 * ends in `at` is a label; but that of a refusal, with a time, says that it happened. It restricts
 * by its words, and never denies. It is history beside `opt_out: false`, and beside a later grant
 * with a time of its own (`granted_at`); `withoutHistory` compares it with `captured_at`. False if
 * the member is something else.
 */
export function readTimeOfRefusal(
  statements: ConsentStatements,
  place: Place,
  member: Member,
): boolean {
  const { name, value, field, owner, meaning } = member
  if (!meaning.isLabel && meaning.subject !== null) return false
  const event = findEvent(name)
  const at = event && parseTime(value)
  if (event === null || at === null) return false
  const subject = findRefused(place, event, member)
  if (subject === null) return false
  statements.withOthers.add(place.source)
  if (isGrantedLater(owner, subject, at)) return true
  const refusedAt = toLatest(value, at)
  addSubject(statements, place, { field, subject, meaning: 'refused', ...refusedAt })
  return true
}

const TIME_OF_DAY = /\d[T\s]\d/

/** A day may be over before the refusal was made; without a known order, it is no known day. */
function toLatest(value: unknown, at: number): Pick<ConsentStatement, 'refusedAt'> {
  if (at === 0) return {}
  const isDay = typeof value === 'string' && DAY.test(value.trim()) && !TIME_OF_DAY.test(value)
  return { refusedAt: isDay ? at + DAY_MILLISECONDS : at }
}

/** Without refusals after which the consent of the submission was captured. */
export function withoutHistory(
  statements: ConsentStatements,
  captured: CapturedAt,
  receivedAt: Date,
): ConsentStatements {
  const { choices } = statements
  if (!(captured instanceof Date) || choices.every(one => one.refusedAt === undefined)) {
    return statements
  }
  const isHistory = ({ refusedAt }: ConsentStatement) =>
    refusedAt !== undefined &&
    isCapturedAfterOptOut(captured, { optedOutAt: new Date(refusedAt), receivedAt })
  return { ...statements, choices: choices.filter(one => !isHistory(one)) }
}

/** What was refused at this time; null for other times, and for an opt-out that is off. */
function findRefused(
  { parent, path }: Place,
  event: string[],
  { name, owner }: Member,
): Subject | null {
  if (event.length === 0) {
    // `revoked: {at: 1732000000}`, without any answer beside it.
    const isOfRefusal = parent?.isNegative && hasHappened(splitWords(path.split('.').at(-1) ?? ''))
    const isAlone = Object.entries(owner).every(
      ([other, said]) => other === name || !isAnswer(said),
    )
    return isOfRefusal && isAlone && parent ? toRefusable(parent) : null
  }
  // `token_revoked_at` is about a token.
  const isOfOther = event.some(word => WORD_KINDS.get(word) === 'ending')
  if (isOfOther || !hasHappened(event)) return null
  const meaning = findMeaning(event.join(' '))
  const { isNegative, isLabel, isPlain, isChannel } = meaning
  if (!isNegative || isLabel || !isPlain || isChannel || isOff(owner, meaning)) return null
  return toRefusable(resolveSubject(meaning, parent))
}

function toRefusable(subject: Subject): Subject | null {
  const { subject: about, isNegative } = subject
  const isRefusable = isNegative && about !== null && about !== 'other' && about !== 'gpc'
  return isRefusable ? { ...subject, isForm: false } : null
}

const TIME_WORD =
  /^(?:at|on|date|day|time|datetime|timestamp|ts|unix|utc|ms|since|when|am|datum|fecha|zeitpunkt)$/
/** Of an opt-out that was "requested" or "confirmed": it was made. */
const ACT_WORD = /^(?:requested|submitted|made|confirmed|exercised|effective|of|the|was)$/

/** Only names of letters are cached, because others may be identifiers. */
const events = new LRUCache<string, { words: string[] | null }>({ max: 500 })
const CACHEABLE_NAME = /^[A-Za-z_. -]+$/

function findEvent(name: string): string[] | null {
  if (name.length > NAME_LENGTH_MAX) return null
  const cached = events.get(name)
  if (cached !== undefined) return cached.words
  const words = withoutTimeWords(name)
  if (CACHEABLE_NAME.test(name)) events.set(name, { words })
  return words
}

/** The words of what happened, in `opt_out_requested_at` and `date_of_withdrawal`. */
function withoutTimeWords(name: string): string[] | null {
  const words = splitWords(name)
  const isTime = (word: string) => TIME_WORD.test(word)
  if (!words.some(isTime)) return null
  const isPart = (word: string) => isTime(word) || ACT_WORD.test(word)
  const start = words.findIndex(word => !isPart(word))
  if (start === -1) return []
  const end = words.findLastIndex(word => !isPart(word)) + 1
  const isOutside = words.slice(0, start).some(isTime) || words.slice(end).some(isTime)
  return isOutside ? words.slice(start, end) : null
}

const NAME_LENGTH_MAX = 64

/** Not "revoke" or "block", which may be planned; "disabled" needs a subject in the name. */
const HAPPENED = new RegExp(
  '^(?:opt(?:ed)?outs?|withdrawn|withdrew|withdrawals?|revoked|revocations?|denied|denials?|' +
    'declined|refused|refusals?|rejected|rejections?|objected|objections?|opposed|opposition|' +
    'disagreed|dissent(?:ed)?)$',
)
const HAPPENED_TO = new RegExp(
  '^(?:disabled|disallowed|deactivated|blocked|stopped|removed|restricted|limited|suppressed|' +
    'excluded|prohibited|forbidden|unsubscribed)$',
)

function hasHappened(words: string[]): boolean {
  return words.some(
    word =>
      HAPPENED.test(word) ||
      REFUSAL_STEM.test(word) ||
      (HAPPENED_TO.test(word) && words.length > 1),
  )
}

function isAnswer(value: unknown): boolean {
  return readAnswer(value).answer === 'yes' || readAnswer(value).answer === 'no'
}

/** `opt_out: false` beside `opt_out_at`, which then is when the answer changed. */
function isOff(owner: UntrustedObject, { subject, vendor }: NameMeaning): boolean {
  return Object.entries(owner).some(([name, value]) => {
    if (readAnswer(value).answer !== 'no') return false
    const other = findMeaning(name)
    return other.isNegative && other.subject === subject && other.vendor === vendor
  })
}

const GRANTED = new RegExp(
  '^(?:granted|given|accepted|allowed|approved|authori[sz]ed|agreed|permitted|consented|enabled|' +
    'opt(?:ed)?in)$',
)

/** `granted_at` of the same object, about the same, and later. */
function isGrantedLater(owner: UntrustedObject, { subject }: Subject, refusedAt: number): boolean {
  return Object.entries(owner).some(([name, value]) => {
    const event = findEvent(name)
    if (!event?.some(word => GRANTED.test(word))) return false
    const granted = findMeaning(event.join(' '))
    const isSame = granted.isSwitch || granted.subject === subject
    return isSame && !granted.isNegative && (parseTime(value) ?? 0) > refusedAt
  })
}

/** Unix time in seconds, milliseconds or microseconds, of this century. */
const UNIX_TIME = /^[12]\d{9}(?:\d{3}|\d{6})?(?:\.\d{1,9})?$/
/** `2026-11-20`, `20261120T101500Z`, `20.11.2026`, `11/20/2026 10:15`. */
const DAY = /^20\d\d[-/.]?[01]\d[-/.]?[0-3]\d(?!\d)|^[0-3]?\d[./-][0-3]?\d[./-]20\d\d(?!\d)/
/** `Fri, 20 Nov 2026 10:15:00 GMT` and `Nov 20, 2026`. */
const NAMED_DAY = /^(?=.*\b20\d\d\b)(?:[a-z]{3,9},? )?(?:\d{1,2} )?[a-z]{3,9}[ .]/i
const TEXT_LENGTH_MAX = 64

/** Whether a value is a time. `0`, 1970 and the year 1 are none: databases write them for none. */
export function isTime(value: unknown): boolean {
  return parseTime(value) !== null
}

/** Milliseconds; for a day without an order that is known, some time of it. Null for no time. */
function parseTime(value: unknown): number | null {
  if (typeof value === 'number') return parseUnixTime(String(value))
  if (isObject(value)) return parseStoredTime(value)
  if (typeof value !== 'string' || value.length > TEXT_LENGTH_MAX) return null
  const text = value.trim()
  const unix = parseUnixTime(text)
  if (unix !== null) return unix
  if (!DAY.test(text) && !NAMED_DAY.test(text)) return null
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return time
  return DAY.test(text) ? 0 : null
}

function parseUnixTime(text: string): number | null {
  if (!UNIX_TIME.test(text)) return null
  const digits = text.split('.')[0]?.length ?? 0
  return Number(text) * (digits === 10 ? 1000 : digits === 13 ? 1 : 0.001)
}

/** MongoDB writes `{$date: …}` and Firestore `{seconds, nanoseconds}`. */
function parseStoredTime(value: UntrustedObject): number | null {
  const stored = value.$date ?? value.seconds ?? value._seconds
  return isObject(stored) || stored === undefined ? null : parseTime(stored)
}
