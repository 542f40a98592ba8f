import { DROP_REASONS, type DropReason } from './dropped-fields.ts'
import { looksLikeUnsupportedHash } from './identifier-digest.ts'
import { normalizePhone } from './normalize-phone.ts'

/** The keys of Meta's `user_data` whose values leave this service only as SHA-256 digests. */
export type HashedKey =
  | 'em'
  | 'ph'
  | 'fn'
  | 'ln'
  | 'ge'
  | 'db'
  | 'ct'
  | 'st'
  | 'zp'
  | 'country'
  | 'external_id'

interface HashedFieldRule {
  /** Turns prepared text into the exact text to hash, or null when it cannot be made right. */
  normalize: (prepared: string, country: string | null) => string | null
  reason: DropReason
  /** These fields also take whole numbers; in the others a number is a mistake of the caller. */
  acceptsNumbers?: true
}

/**
 * Meta's written rules, one a field (Customer Information Parameters; the `doc_*` members of
 * vectors/meta-hash-vectors.json). Where Meta's libraries differ from its page, the page wins.
 */
export const HASHED_FIELD_RULES: Record<HashedKey, HashedFieldRule> = {
  em: { normalize: normalizeEmail, reason: DROP_REASONS.email },
  ph: { normalize: normalizePhone, reason: DROP_REASONS.phone, acceptsNumbers: true },
  fn: { normalize: normalizeName, reason: DROP_REASONS.name },
  ln: { normalize: normalizeName, reason: DROP_REASONS.name },
  ge: { normalize: normalizeGender, reason: DROP_REASONS.gender },
  db: { normalize: normalizeBirthDate, reason: DROP_REASONS.birthDate },
  ct: { normalize: normalizePlace, reason: DROP_REASONS.place },
  st: { normalize: normalizePlace, reason: DROP_REASONS.place },
  zp: { normalize: normalizePostalCode, reason: DROP_REASONS.postalCode, acceptsNumbers: true },
  country: { normalize: normalizeCountry, reason: DROP_REASONS.country },
  external_id: {
    normalize: normalizeExternalId,
    reason: DROP_REASONS.placeholder,
    acceptsNumbers: true,
  },
}

/** MD5 and its kin hide in every field except this one, where 32 hex digits are a fair id. */
export function isUnsupportedHash(key: HashedKey, prepared: string): boolean {
  return key !== 'external_id' && looksLikeUnsupportedHash(prepared)
}

function normalizeName(prepared: string): string | null {
  const name = prepared.replace(/[^\p{L}\p{M}\p{N}]+/gu, '')
  return /\p{L}/u.test(name) ? name : null
}

function normalizeGender(prepared: string): string | null {
  const letters = prepared.replace(/[^a-z]+/g, '')
  if (letters === 'f' || letters === 'female') return 'f'
  if (letters === 'm' || letters === 'male') return 'm'
  return null
}

/** Digits go too: a city or state that carries some is followed by a postal code ("TX 75001"). */
function normalizePlace(prepared: string): string | null {
  const place = prepared.replace(/[^\p{L}\p{M}]+/gu, '')
  return /\p{L}/u.test(place) ? place : null
}

/** Only the United States has nine digits, so ZIP+4 is known even when the country is not. */
function normalizePostalCode(prepared: string, country: string | null): string | null {
  const code = prepared.replace(/[^\p{L}\p{N}]+/gu, '')
  if (code.length < 2) return null
  const isUnitedStates = country === 'us' || (country === null && /^\d{9}$/.test(code))
  return isUnitedStates ? code.slice(0, 5) : code
}

const PLACEHOLDERS = new Set(['null', 'undefined', 'none', 'nan', 'n/a', '[object object]'])

/** A variable that was never filled would make one person out of everyone who shares the bug. */
function normalizeExternalId(prepared: string): string | null {
  return PLACEHOLDERS.has(prepared) ? null : prepared
}

/** RFC 5321 allows 254 characters for a whole address. */
const EMAIL_CHARACTERS_MAX = 254

const LOCAL_PART = /^(?:"[^"\s\p{C}]+"|[^\s\p{C}@"<>()[\]:;,\\]+)$/u
const DOMAIN = /^(?:[\p{L}\p{M}\p{N}_-]+\.)+[\p{L}\p{M}\p{N}-]{2,}$/u

/**
 * Meta's rule for `em` (Customer Information Parameters): trimmed and lower case, nothing else.
 * Dots and +tags stay, since they are part of the address. Takes prepared text; null when it is
 * not one bare address of a dotted domain, because a display name or a typo would hash to nobody.
 */
export function normalizeEmail(prepared: string): string | null {
  if (prepared.length > EMAIL_CHARACTERS_MAX) return null
  const at = prepared.lastIndexOf('@')
  const isAddress =
    at > 0 && LOCAL_PART.test(prepared.slice(0, at)) && DOMAIN.test(prepared.slice(at + 1))
  return isAddress ? prepared : null
}

const YEAR_FIRST = /^(\d{4})([-/. ]?)(\d{2})\2(\d{2})$/
const YEAR_FIRST_SHORT = /^(\d{4})([-/. ])(\d{1,2})\2(\d{1,2})$/
const YEAR_LAST = /^(\d{1,2})([-/. ])(\d{1,2})\2(\d{4})$/

/**
 * Meta's rule for `db` (Customer Information Parameters): YYYYMMDD, year 1900 or later. Accepts
 * year-first and year-last dates with - / . or a space. In a year-last date the day is told from
 * the month only when one of them is above 12 or both are equal; otherwise the date is dropped.
 */
export function normalizeBirthDate(prepared: string): string | null {
  const yearFirst = YEAR_FIRST.exec(prepared) ?? YEAR_FIRST_SHORT.exec(prepared)
  if (yearFirst) return toCalendarDate(yearFirst[1], yearFirst[3], yearFirst[4])
  const yearLast = YEAR_LAST.exec(prepared)
  if (!yearLast) return null
  const [, first, , second, year] = yearLast
  const monthFirst = toCalendarDate(year, first, second)
  const dayFirst = toCalendarDate(year, second, first)
  if (monthFirst !== null && dayFirst !== null && monthFirst !== dayFirst) return null
  return monthFirst ?? dayFirst
}

function toCalendarDate(year = '', month = '', day = ''): string | null {
  const [y, m, d] = [Number(year), Number(month), Number(day)]
  if (y < 1900 || y > 2099) return null
  const date = new Date(Date.UTC(y, m - 1, d))
  // Date.UTC rolls 31 February over into March; a date that moved was never on a calendar.
  if (date.getUTCMonth() !== m - 1 || date.getUTCDate() !== d) return null
  return `${year}${month.padStart(2, '0')}${day.padStart(2, '0')}`
}

/** ISO 3166-1 alpha-2, the 249 assigned codes, and xk, which Kosovo uses everywhere in practice. */
const COUNTRY_CODES = new Set(
  `ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs
  bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee
  eg eh er es et fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm
  hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc
  li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na
  nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw
  sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm tn to
  tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw xk`.split(/\s+/),
)

/** Two codes that are wrong by ISO and still right in everyday use and in EU law. */
const COUNTRY_ALIASES = new Map([
  ['uk', 'gb'],
  ['el', 'gr'],
])

/**
 * Meta's rule for `country` (Customer Information Parameters): lower-case ISO 3166-1 alpha-2.
 * Takes prepared text. Names and locales ("France", "de-DE") are null rather than guessed at.
 */
export function normalizeCountry(prepared: string): string | null {
  const code = COUNTRY_ALIASES.get(prepared) ?? prepared
  return COUNTRY_CODES.has(code) ? code : null
}
