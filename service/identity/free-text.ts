import { decodePercentEncoding, normalizeText } from './identifier-formats.ts'

/**
 * Identifiers in free text: e-mail addresses, and phone numbers in international form, which begin
 * with +. Bare digits are order numbers. Text that hides them by percent-encoding or by full-width
 * characters is read the way a later decoder would read it.
 */

/** Makes a stable token from a normalized identifier. */
export type TokenMaker = (normalized: string) => string

/** Whether an identifier stands anywhere in the text. */
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
  const plain = ENCODED.test(text) ? decodePercentEncoding(text).normalize('NFKC') : text
  if (plain === text) return redacted
  const redactedPlain = redactPlainText(plain, tokenOf)
  return redactedPlain === plain ? redacted : redactedPlain
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
