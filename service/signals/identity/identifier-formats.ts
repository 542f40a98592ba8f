/*
 * The browser uses these rules too: the dashboard digests an identifier without sending it. So
 * nothing here may import a module of Node.
 */

/** What a variable leaves in a text when it was never filled, in any field. Lower case. */
const UNFILLED_TEXTS = ['undefined', '[object object]', '(not set)', '-']

/** Objects as text, marks alone, and templates that no program has filled. An ID may be `{7}`. */
const UNFILLED_FORM = new RegExp(
  '^(?:\\[object \\w+\\]|[!-/:-@\\[-`{-~\\u2010-\\u2015]+|\\{\\{.*\\}\\}|' +
    '[$#]\\{.*\\}|<%.*%>|%%.*%%|%[a-z_. ]+%|\\[\\[.*\\]\\]|\\*\\|.*\\|\\*|' +
    '__[a-z_]+__|\\{[a-z_. ]+\\}|<[a-z_. ]+>|\\[[a-z_. ]+\\])$',
  'su',
)

/** Only in IDs: Null, Nan and Nil are names of people, and None is a town. */
const EMPTY_ID_TEXTS = [
  ...['null', 'none', 'nan', 'n/a', 'nil', '(null)', '(none)', '#n/a', 'not set', 'unknown'],
  ...['(unknown)', '(not provided)', '(empty)', 'n\\a', 'true', 'false'],
]

/** The IDs of guests in many shops. */
export const GUEST_IDS = [...['0', '00000000-0000-0000-0000-000000000000', 'guest', 'anonymous']]

const UNFILLED = new Set(UNFILLED_TEXTS)
const EMPTY_IDS = new Set(EMPTY_ID_TEXTS)
const GUESTS = new Set(GUEST_IDS)

/** Whether a name or a place was never filled. Takes prepared text. */
export function isUnfilled(prepared: string): boolean {
  return UNFILLED.has(prepared) || UNFILLED_FORM.test(prepared)
}

/** Whether the ID of an order or a product was never filled. Takes prepared text. */
export function isUnfilledId(prepared: string): boolean {
  return EMPTY_IDS.has(prepared) || isUnfilled(prepared)
}

/**
 * Whether an email address, a phone number or an ID of a person was never filled: it would make one
 * person of all who share the bug. Takes prepared text.
 */
export function isPlaceholder(prepared: string): boolean {
  return GUESTS.has(prepared) || isUnfilledId(prepared)
}

/** Some programs write them in their own way, and some templates have the name of the field. */
const SPELLINGS = ['NaN', '[object Object]', '{{name}}', '{{email}}', '{{phone}}', '{{user_id}}']

/** The placeholders of names and places as callers write them, whose digests are nobody's. */
export const UNFILLED_SPELLINGS = listSpellings(UNFILLED_TEXTS, SPELLINGS.slice(1))

/** The placeholders of IDs as callers write them. */
export const PLACEHOLDER_SPELLINGS = [
  ...UNFILLED_SPELLINGS,
  ...listSpellings([...EMPTY_ID_TEXTS, ...GUEST_IDS], SPELLINGS.slice(0, 1)),
]

function listSpellings(texts: readonly string[], others: readonly string[]): string[] {
  const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
  const spellings = texts.flatMap(text => [text, text.toUpperCase(), capitalize(text)])
  return [...new Set([...spellings, ...others])]
}

/** RFC 5321 allows 254 characters for a whole address. */
const EMAIL_CHARACTERS_MAX = 254

const LOCAL_PART = /^(?:"[^"\s\p{C}]+"|[^\s\p{C}@"<>()[\]:;,\\]+)$/u
const DOMAIN = /^(?:[\p{L}\p{M}\p{N}_-]+\.)+[\p{L}\p{M}\p{N}-]{2,}$/u

/**
 * An email address, as prepared: dots and +tags stay, since they are part of the address. Null when
 * the text is not one bare address of a dotted domain, because the digest of a display name or a
 * typo would match no one.
 */
export function normalizeEmail(prepared: string): string | null {
  if (prepared.length > EMAIL_CHARACTERS_MAX) return null
  const at = prepared.lastIndexOf('@')
  const isAddress =
    at > 0 && LOCAL_PART.test(prepared.slice(0, at)) && DOMAIN.test(prepared.slice(at + 1))
  return isAddress ? prepared : null
}

/** An address without the dots of its mailbox and what follows a +. Null: nothing else is left. */
export function removeDotsAndTag(address: string): string | null {
  const at = address.lastIndexOf('@')
  const mailbox = address.slice(0, at).replace(/\+.*$/s, '').replaceAll('.', '')
  return mailbox === '' ? null : `${mailbox}${address.slice(at)}`
}

/** Digest of "". Some senders hash empty values; it would match everyone who does the same. */
export const EMPTY_DIGEST = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** What some databases hold instead of a digest. */
export const ZERO_DIGEST = '0'.repeat(64)

const DIGEST = /^[0-9a-f]{64}$/
const PARAMETER_BUILDER_SUFFIX = /^(?:[\w-]{8}|AQ|Ag|Aw|BA|BQ|Bg)$/
const UNSUPPORTED_HASH = /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{128})$/

/**
 * Reads a value that the caller hashed before sending: 64 hexadecimal digits of any case, or the
 * `<digest>.<suffix>` of Meta's Parameter Builder (suffix of 8 characters, or one of AQ Ag Aw BA
 * BQ Bg). The suffix is dropped: it only names the library that hashed the value, and a deletion by
 * digest must find the bare form. Null when the text is no such digest.
 */
export function parseSuppliedDigest(text: string): string | null {
  const trimmed = removeInvisible(text).trim()
  if (trimmed.length < 64 || trimmed.length > 73) return null
  const digest = trimmed.slice(0, 64).toLowerCase()
  if (!DIGEST.test(digest)) return null
  if (trimmed.length === 64) return digest
  return trimmed[64] === '.' && PARAMETER_BUILDER_SUFFIX.test(trimmed.slice(65)) ? digest : null
}

/** Has the form of an MD5, SHA-1 or SHA-512. The digest of such a value can match no one. */
export function looksLikeUnsupportedHash(prepared: string): boolean {
  return UNSUPPORTED_HASH.test(prepared)
}

/**
 * The form in which visitor IDs are compared: NFC, trimmed, lower case. Nothing else is folded,
 * because two IDs that differ in a compatibility character may be of two people, and stored visitor
 * IDs must keep their digests.
 */
export function normalizeText(text: string): string {
  return (IS_ASCII.test(text) ? text : text.normalize('NFC')).trim().toLowerCase()
}

/**
 * An ID of the caller, prepared: without invisible characters, else as a visitor ID.
 * `normalizeCallerId` is the form that is digested.
 */
export function prepareCallerId(text: string): string {
  return normalizeText(removeInvisible(text))
}

/** The same in the case in which the caller writes it, for platforms that keep the case. */
export function prepareCallerIdInCase(text: string): string {
  return removeInvisible(text).normalize('NFC').trim()
}

/** The exact text of an ID of a person that is digested. Null for blank text and placeholders. */
export function normalizeCallerId(prepared: string): string | null {
  if (prepared === '' || isPlaceholder(prepared)) return null
  return /\s/.test(prepared) ? prepared.replace(/\s+/g, '') : prepared
}

/**
 * The first step of every other identifier rule: without invisible characters, NFKC, trimmed, lower
 * case. NFKC makes one of a "José" with a composed and with a decomposed accent, and plain digits,
 * letters and signs of the full-width forms that Japanese keyboards type.
 */
export function normalizeIdentifier(text: string): string {
  return normalizeVisible(removeInvisible(text))
}

/** As versions before lookup digests prepared an identifier: with its invisible characters. */
export function normalizeVisible(text: string): string {
  return normalizeCompatibility(text).trim().toLowerCase()
}

/**
 * The text without characters that no one sees, such as soft hyphens, joiners and marks of the
 * direction of writing: they come with text that is copied from web pages. These are the characters
 * that Unicode lets a program ignore (Default_Ignorable_Code_Point).
 */
export function removeInvisible(text: string): string {
  return IS_ASCII.test(text) ? text : text.replace(INVISIBLE, '')
}

const INVISIBLE = /\p{Default_Ignorable_Code_Point}+/gu

/**
 * NFKC, except that accents on their own stay: NFKC would put a space before them, so that the last
 * name "O´Brien", with an acute accent for an apostrophe, would get a letter with an accent.
 * ASCII is returned as it is: 9 times as fast as `normalize` (60,000 names in a loop).
 */
function normalizeCompatibility(text: string): string {
  if (IS_ASCII.test(text)) return text
  if (!HAS_LONE_ACCENT.test(text)) return text.normalize('NFKC')
  return text.replace(NO_LONE_ACCENTS, run => run.normalize('NFKC'))
}

const IS_ASCII = /^[\0-\x7f]*$/
const HAS_LONE_ACCENT = /\p{Sk}/u
const NO_LONE_ACCENTS = /\P{Sk}+/gu

const DECODE_ROUNDS_MAX = 4

const LOCAL_PART_END = /[^\s/\\@?#&=,;:<>()]/u
const EMAIL_DOMAIN =
  /@(?:[\p{L}\p{M}\p{N}_-]{1,63}\.){1,8}(?:\p{L}[\p{L}\p{M}]{1,62}|xn--[a-z0-9-]+)/iuy
const INTERNATIONAL_PHONE = /^(?:tel:)?[+＋](?:[\s().+-]*\d){8,15}[\s().-]*$/i
const GROUPED_PHONE = /^\(?\d{3}\)?[\s.+-]{0,2}\d{3}[\s.+-]\d{4}$/

/** Whether an email address stands anywhere in the text. Works in time linear to its length. */
export function containsEmail(given: string): boolean {
  const text = removeInvisible(given)
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    if (at === 0 || !LOCAL_PART_END.test(text.charAt(at - 1))) continue
    EMAIL_DOMAIN.lastIndex = at
    if (EMAIL_DOMAIN.test(text)) return true
  }
  return false
}

/** Whether the whole text is a phone number with a leading +. No machine ID starts with one. */
export function isInternationalPhone(given: string): boolean {
  const text = removeInvisible(given)
  return text.length <= 64 && INTERNATIONAL_PHONE.test(text.trim())
}

/** Whether the whole text is a phone number, with + or grouped the American way. */
export function isFormattedPhone(given: string): boolean {
  const text = removeInvisible(given)
  return isInternationalPhone(text) || (text.length <= 20 && GROUPED_PHONE.test(text.trim()))
}

/**
 * Decodes percent-encoding as often as it was applied, up to a limit, and keeps broken sequences:
 * %2540 is read as the @ that a later decoder would make of it.
 */
export function decodePercentEncoding(text: string): string {
  let decoded = text
  for (let round = 0; round < DECODE_ROUNDS_MAX && decoded.includes('%'); round += 1) {
    const next = decoded.replace(/(?:%[0-9a-f]{2})+/gi, decodeRun)
    if (next === decoded) break
    decoded = next
  }
  return decoded
}

function decodeRun(run: string): string {
  try {
    return decodeURIComponent(run)
  } catch {
    // Not UTF-8: the ASCII among the bytes is still enough to recognize an identifier.
    return run.replace(/%([2-7][0-9a-f])/gi, (_, code) => String.fromCharCode(parseInt(code, 16)))
  }
}

/** How HTML, JSON and JavaScript's `escape` write @ and +, the marks of an address. */
const WRITTEN_MARKS = /&#(?:64|43|x40|x2b);|&(?:commat|plus);|[\\%]u00(?:40|2b)/gi

/** The text as a program reads it that undoes percent-encoding and the codes of HTML and JSON. */
export function decodeText(text: string): string {
  return decodeWrittenMarks(decodePercentEncoding(text))
}

/** The text with `&#64;`, `\u0040` and the like as the @ and + that a later program reads. */
export function decodeWrittenMarks(text: string): string {
  if (!MAY_WRITE_MARKS.test(text)) return text
  return text.replace(WRITTEN_MARKS, mark => (/43|2b|plus/i.test(mark) ? '+' : '@'))
}

const MAY_WRITE_MARKS = /[&\\%][#cpu]/i
