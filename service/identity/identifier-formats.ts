/** What a variable leaves that was never filled. */
const PLACEHOLDERS = new Set(['null', 'undefined', 'none', 'nan', 'n/a', '[object object]'])

/** A variable that was never filled would make one person of all who share the bug. */
export function isPlaceholder(prepared: string): boolean {
  return PLACEHOLDERS.has(prepared)
}

/** RFC 5321 allows 254 characters for a whole address. */
const EMAIL_CHARACTERS_MAX = 254

const LOCAL_PART = /^(?:"[^"\s\p{C}]+"|[^\s\p{C}@"<>()[\]:;,\\]+)$/u
const DOMAIN = /^(?:[\p{L}\p{M}\p{N}_-]+\.)+[\p{L}\p{M}\p{N}-]{2,}$/u

/**
 * An e-mail address, as prepared: dots and +tags stay, since they are part of the address. Null when
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

const YEAR_FIRST = /^(\d{4})([-/. ]?)(\d{2})\2(\d{2})$/
const YEAR_FIRST_SHORT = /^(\d{4})([-/. ])(\d{1,2})\2(\d{1,2})$/
const YEAR_LAST = /^(\d{1,2})([-/. ])(\d{1,2})\2(\d{4})$/

/**
 * A birth date as YYYYMMDD, from 1900 on. Accepts
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
 * A country as lower-case ISO 3166-1 alpha-2.
 * Takes prepared text. Names and locales ("France", "de-DE") are null rather than guessed at.
 */
export function normalizeCountry(prepared: string): string | null {
  const code = COUNTRY_ALIASES.get(prepared) ?? prepared
  return COUNTRY_CODES.has(code) ? code : null
}
