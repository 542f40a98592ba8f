import { createHmac, type KeyObject } from 'node:crypto'
import { APP_DATA_MEMBERS } from '@signalbox/contract/event-context.ts'
import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import { VALUE_DATA_MEMBERS } from '@signalbox/contract/value-data.ts'
import { DROPPED_FIELDS_MAX, formatMemberPath } from '../identity/dropped-fields.ts'
import {
  decodePercentEncoding,
  normalizeText,
  removeInvisible,
} from '../identity/identifier-formats.ts'

/**
 * Members whose text is sent as it is, with the names that are stored. URLs and `user_data` have
 * rules of their own.
 */
const FREE_TEXT_MEMBERS = [
  ['value_data', VALUE_DATA_MEMBERS],
  ['app_data', APP_DATA_MEMBERS],
] as const

export interface RedactedSubmission {
  submission: EventSubmission
  /** Dotted paths of the members in which a token replaced an identifier. */
  redacted: string[]
}

/**
 * Whether free text that travels holds an email address or an international phone number. Almost
 * no event does, so the key for the tokens is needed for almost none.
 */
export function holdsIdentifiers(submission: EventSubmission): boolean {
  return FREE_TEXT_MEMBERS.some(([name, stored]) => {
    const member: object | undefined = submission[name]
    if (member === undefined) return false
    return Object.entries(member).some(([inner, value]) => stored.has(inner) && someText(value))
  })
}

function someText(value: unknown): boolean {
  if (typeof value === 'string') return containsIdentifier(value)
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(someText)
  for (const name of Object.keys(value)) {
    if (containsIdentifier(name) || someText((value as Record<string, unknown>)[name])) return true
  }
  return false
}

/** A copy of the submission in which tokens replace the identifiers in free text that travels. */
export function redactSubmission(
  submission: EventSubmission,
  tokenOf: TokenMaker,
): RedactedSubmission {
  const fields = new Set<string>()
  const copy = { ...submission }
  for (const [name, stored] of FREE_TEXT_MEMBERS) {
    const member: object | undefined = submission[name]
    if (member === undefined) continue
    const redacted = Object.entries(member).map(([inner, value]) => [
      inner,
      stored.has(inner) ? redactValue(value, `${name}.${inner}`, { tokenOf, fields }) : value,
    ])
    Object.assign(copy, { [name]: Object.fromEntries(redacted) })
  }
  return { submission: copy, redacted: [...fields].slice(0, DROPPED_FIELDS_MAX) }
}

interface Redaction {
  tokenOf: TokenMaker
  fields: Set<string>
}

function redactValue(value: unknown, path: string, redaction: Redaction): unknown {
  if (typeof value === 'string') return redactText(value, path, redaction)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    return value.map((item, index) => redactValue(item, `${path}[${index}]`, redaction))
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const memberPath = formatMemberPath(path, name)
      return [redactText(name, memberPath, redaction), redactValue(member, memberPath, redaction)]
    }),
  )
}

function redactText(text: string, path: string, { tokenOf, fields }: Redaction): string {
  const redacted = redactIdentifiers(text, tokenOf)
  if (redacted !== text) fields.add(path)
  return redacted
}

const TOKEN_HEX_DIGITS = 32

/**
 * Tokens that are stable for a tracker: orders of one address keep one token. HMAC-SHA256 under the
 * key that also protects the digests of erased people, since a plain digest could be tested against
 * every known address. Bound to the tracker, so that tokens of two trackers cannot be joined, and
 * to its use, so that a token never equals the stored digest of an erased person.
 */
export function createTokenMaker(key: KeyObject, trackerId: string): TokenMaker {
  return normalized => {
    const hmac = createHmac('sha256', key).update(`free-text\n${trackerId}\n${normalized}`)
    return `redacted_${hmac.digest('hex').slice(0, TOKEN_HEX_DIGITS)}`
  }
}

/** Makes a stable token from a normalized identifier. */
export type TokenMaker = (normalized: string) => string

/**
 * Whether an identifier stands anywhere in the text: an email address, or a phone number in
 * international form, which begins with +. Bare digits are order numbers. Text that hides them by
 * percent-encoding, full-width or invisible characters is read the way a later decoder would read
 * it.
 */
export function containsIdentifier(text: string): boolean {
  return MAY_IDENTIFY.test(text) && redactIdentifiers(text, () => '') !== text
}

/**
 * The text with a token in place of each identifier. Text without one is returned as it is, and so
 * is the rest of a text that is written plainly; encoded text is decoded first.
 */
export function redactIdentifiers(text: string, tokenOf: TokenMaker): string {
  if (!MAY_IDENTIFY.test(text)) return text
  const redacted = redactPlainText(text, tokenOf)
  const plain = ENCODED.test(text) ? decodeText(text) : text
  if (plain === text) return redacted
  const redactedPlain = redactPlainText(plain, tokenOf)
  return redactedPlain === plain ? redacted : redactedPlain
}

function decodeText(text: string): string {
  return removeInvisible(decodePercentEncoding(text)).normalize('NFKC')
}

/** No identifier is without one of these. Half of all text is done after this test. */
const MAY_IDENTIFY = /[@+%＠﹫＋﹢]/
const ENCODED = /%[0-9a-f]{2}|[^ -~]/i

function redactPlainText(text: string, tokenOf: TokenMaker): string {
  return redactPhones(redactEmails(text, tokenOf), tokenOf)
}

/** E.164 allows 15 digits; no number has fewer than 8 with its country code. */
const PHONE = /\+[\s(]{0,2}(?:00)?[1-9](?:[\s()./-]{0,3}\d){7,14}(?!\d)/g

function redactPhones(text: string, tokenOf: TokenMaker): string {
  if (!text.includes('+')) return text
  return text.replace(PHONE, match => tokenOf(`+${match.replace(/\D/g, '').replace(/^00/, '')}`))
}

/** Characters that end the local part of an address in running text. */
const LOCAL_PART_CHARACTER = /[^\s/\\@?#&=,;:<>()[\]{}|"'`]/u
const DOMAIN = /@(?:[\p{L}\p{M}\p{N}_-]{1,63}\.){1,8}(?:xn--[a-z0-9-]+|\p{L}[\p{L}\p{M}]{1,62})/iuy
const LOCAL_PART_CHARACTERS_MAX = 254

/** Works in time linear to the length of the text. */
function redactEmails(text: string, tokenOf: TokenMaker): string {
  let redacted = ''
  let done = 0
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    const start = findLocalPart(text, at, done)
    DOMAIN.lastIndex = at
    if (start === at || !DOMAIN.test(text)) continue
    const end = DOMAIN.lastIndex
    redacted += text.slice(done, start) + tokenOf(normalizeText(text.slice(start, end)))
    done = end
  }
  return done === 0 ? text : redacted + text.slice(done)
}

/** The place where the local part before the @ begins, `at` if there is none. */
function findLocalPart(text: string, at: number, from: number): number {
  const limit = Math.max(from, at - LOCAL_PART_CHARACTERS_MAX)
  if (text.charAt(at - 1) === '"') return findQuote(text.slice(limit, at - 1), limit) ?? at - 1
  let start = at
  while (start > limit && LOCAL_PART_CHARACTER.test(text.charAt(start - 1))) start -= 1
  return start
}

/** The opening quote of a quoted local part, as in `"jane doe"@example.com`. */
function findQuote(before: string, offset: number): number | null {
  const quote = before.lastIndexOf('"')
  return quote === -1 ? null : offset + quote
}
