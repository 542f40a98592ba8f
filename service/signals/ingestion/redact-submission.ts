import { createHmac, type KeyObject } from 'node:crypto'
import { APP_DATA_MEMBERS } from '@signalbox/contract/event-context.ts'
import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import { VALUE_DATA_MEMBERS } from '@signalbox/contract/value-data.ts'
import {
  holdsToken,
  mapTokens,
  TOKEN_HEX_DIGITS,
  TOKEN_PREFIX,
  type TokenMaker,
} from '../events/free-text.ts'
import { DROPPED_FIELDS_MAX, formatMemberPath } from '../identity/dropped-fields.ts'
import { decodeText, normalizeText, removeInvisible } from '../identity/identifier-formats.ts'

/**
 * Members with text of the caller that a platform may get, with the names that are stored. URLs and
 * `user_data` have rules of their own.
 */
const FREE_TEXT_MEMBERS = [
  ['value_data', VALUE_DATA_MEMBERS],
  ['app_data', APP_DATA_MEMBERS],
] as const

export interface RedactedSubmission {
  submission: EventSubmission
  /** Dotted paths of the members in which a token replaced an identifier. */
  redacted: string[]
  /** The identifiers that free text and URLs hold, normalized and distinct. */
  identifiers: string[]
  /** The first member with an identifier beyond `TEXT_IDENTIFIERS_MAX`, if there is one. */
  overflow: string[]
}

/** An event with more distinct addresses in its text is of no single person. */
export const TEXT_IDENTIFIERS_MAX = 20

const URL_MEMBERS = ['event_source', 'referrer_url'] as const

/** A URL without one of these holds no identifier; plus signs are spaces in most queries. */
const URL_MAY_IDENTIFY = /[@＠]|%(?:25)*(?:40|2b)|\+[1-9]|[&\\%][#cpu]/i

/**
 * Whether free text or a URL holds an email address or an international phone number. Almost no
 * event does, so the key for the tokens is needed for almost none.
 */
export function holdsIdentifiers(submission: EventSubmission): boolean {
  const isInText = FREE_TEXT_MEMBERS.some(([name, stored]) => {
    const member: object | undefined = submission[name]
    if (member === undefined) return false
    return Object.entries(member).some(([inner, value]) => stored.has(inner) && someText(value))
  })
  return isInText || URL_MEMBERS.some(name => containsUrlIdentifier(submission[name]))
}

function containsUrlIdentifier(url: string | undefined): url is string {
  return url !== undefined && URL_MAY_IDENTIFY.test(url) && containsIdentifier(url)
}

function someText(value: unknown): boolean {
  if (typeof value === 'string') return isReplaced(value)
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(someText)
  for (const name of Object.keys(value)) {
    if (isReplaced(name) || someText((value as Record<string, unknown>)[name])) return true
  }
  return false
}

function isReplaced(text: string): boolean {
  return containsIdentifier(text) || holdsToken(text)
}

/** Makes the tokens of one event. */
export interface TokenMakers {
  /** For `order_id`, by which an order is searched. */
  order: TokenMaker
  /** For every other member. */
  text: TokenMaker
}

/**
 * A copy of the submission in which tokens replace the identifiers in free text that travels. URLs
 * have a rule of their own (`scrubUrl`); here their identifiers are only collected.
 */
export function redactSubmission(
  submission: EventSubmission,
  tokens: TokenMakers,
): RedactedSubmission {
  const found = new FoundIdentifiers()
  const copy = { ...submission }
  for (const [name, stored] of FREE_TEXT_MEMBERS) {
    const member: object | undefined = submission[name]
    if (member === undefined) continue
    const redacted = orderFirst(Object.entries(member)).map(([inner, value]) => {
      const tokenOf = inner === 'order_id' ? tokens.order : tokens.text
      const path = `${name}.${inner}`
      return [inner, stored.has(inner) ? redactValue(value, path, { tokenOf, found }) : value]
    })
    Object.assign(copy, { [name]: Object.fromEntries(redacted) })
  }
  for (const name of URL_MEMBERS) {
    const url = submission[name]
    if (containsUrlIdentifier(url)) redactIdentifiers(url, one => found.add(one, name))
  }
  const { fields, identifiers, overflow } = found
  const redacted = [...fields].slice(0, DROPPED_FIELDS_MAX)
  return { submission: copy, redacted, identifiers: [...identifiers], overflow }
}

/** The token of an order stays, so its identifier is never one beyond the limit. */
function orderFirst(members: [string, unknown][]): [string, unknown][] {
  return members.toSorted(
    ([one], [other]) => Number(other === 'order_id') - Number(one === 'order_id'),
  )
}

class FoundIdentifiers {
  readonly fields = new Set<string>()
  readonly identifiers = new Set<string>()
  readonly overflow: string[] = []

  add(normalized: string, path: string): string {
    if (holdsToken(normalized) || this.identifiers.has(normalized)) return ''
    if (this.identifiers.size < TEXT_IDENTIFIERS_MAX) this.identifiers.add(normalized)
    else if (this.overflow.length === 0) this.overflow.push(path)
    return ''
  }
}

interface Redaction {
  tokenOf: TokenMaker
  found: FoundIdentifiers
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

/** A token that the caller read here and sends again is replaced like what it stands for. */
function redactText(text: string, path: string, { tokenOf, found }: Redaction): string {
  if (!isReplaced(text)) return text
  found.fields.add(path)
  const makeToken = (normalized: string) => {
    found.add(normalized, path)
    return tokenOf(normalized)
  }
  return redactIdentifiers(mapTokens(text, makeToken), makeToken)
}

/**
 * Tokens that are stable for a tracker: orders of one address keep one token, by which they are
 * searched. HMAC-SHA256 under the key that also protects the digests of erased people, since a
 * plain digest could be tested against every known address. Bound to the tracker, so that tokens of
 * two trackers cannot be joined, and to its use, so that a token never equals the stored digest of
 * an erased person.
 */
export function createKeyedTokenMaker(key: KeyObject, trackerId: string): TokenMaker {
  return normalized => {
    if (holdsToken(normalized)) return normalized
    const hmac = createHmac('sha256', key).update(`free-text\n${trackerId}\n${normalized}`)
    return `${TOKEN_PREFIX}${hmac.digest('hex').slice(0, TOKEN_HEX_DIGITS)}`
  }
}

/**
 * Whether an identifier stands anywhere in the text: an email address, or a phone number in
 * international form, which begins with +. Bare digits are order numbers. Text that hides them by
 * percent-encoding, full-width or invisible characters, or as HTML and JSON write them, is read the
 * way a later decoder would read it.
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
  const plain = ENCODED.test(text) ? removeInvisible(decodeText(text)).normalize('NFKC') : text
  if (plain === text) return redacted
  const redactedPlain = redactPlainText(plain, tokenOf)
  return redactedPlain === plain ? redacted : redactedPlain
}

/** No identifier is without one of these. Half of all text is done after this test. */
const MAY_IDENTIFY = /[@+%＠﹫＋﹢]|&[#cp]|\\u/i
const ENCODED = /%[0-9a-f]{2}|[^ -~]|[&\\%][#cpu]/i

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
