import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import { DROP_REASONS, type DropReason } from './dropped-fields.ts'

/** Digits alone, or three numbers with one or two separators between them. */
const DIGITS = /^(\d{4})(\d{2})(\d{2})$/
const SEPARATOR = String.raw`[-/._|: \u2010-\u2015]{1,2}`
const YEAR_FIRST = new RegExp(`^(\\d{4})${SEPARATOR}(\\d{1,2})${SEPARATOR}(\\d{1,2})\\.?$`)
const YEAR_LAST = new RegExp(`^(\\d{1,2})${SEPARATOR}(\\d{1,2})${SEPARATOR}(\\d{4})\\.?$`)

/** Chinese, Japanese and Korean name the year, the month and the day. */
const NAMED_PARTS = /^(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]$/u

/** `(mm/dd/yyyy)`, as the label of a form has it. */
const FORMAT_HINT = / *\([dmy]{1,4}(?:[-/. ][dmy]{1,4}){2}\)$/

/** The time of an ISO 8601 timestamp, which many databases add to a date. */
const TIME_OF_DAY = /[t ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)? ?(?:z|[+-]\d{2}(?::?\d{2})?)?$/

/** The easternmost time zone is 14 hours ahead of UTC, so its date may be tomorrow's in UTC. */
const HOURS_AHEAD_OF_UTC_MAX = 14

/**
 * A birth date as YYYYMMDD, from 1900 to the day of `observedAt`. Accepts year-first and year-last
 * dates with - / . _ | : or spaces, and ISO 8601 timestamps, whose date counts as written: a shift
 * of time zones would change the birthday. A date that may be two is ambiguous, and so dropped: a
 * year-last one, unless the day or the month is above 12 or both are equal.
 */
export function normalizeBirthDate(
  prepared: string,
  { observedAt }: { observedAt: Date },
): string | { reason: DropReason } {
  const date = parseCalendarDate(prepared)
  if (date === null) return { reason: DROP_REASONS.birthDate }
  return isInFuture(date, observedAt) ? { reason: DROP_REASONS.birthDateInFuture } : date
}

function parseCalendarDate(prepared: string): string | null {
  const date = prepared.replace(FORMAT_HINT, '')
  const text = date.includes(':') ? date.replace(TIME_OF_DAY, '') : date
  const whole = DIGITS.exec(text)
  if (whole) return toCalendarDate(whole[1], whole[2], whole[3])
  const yearFirst = YEAR_FIRST.exec(text) ?? NAMED_PARTS.exec(text)
  if (yearFirst) {
    const [, year, second, third] = yearFirst
    // Year, day, month is no form of any country, but 1990-15-06 can be nothing else.
    return toCalendarDate(year, second, third) ?? toCalendarDate(year, third, second)
  }
  const yearLast = YEAR_LAST.exec(text)
  if (!yearLast) return null
  const [, first, second, year] = yearLast
  const monthFirst = toCalendarDate(year, first, second)
  const dayFirst = toCalendarDate(year, second, first)
  if (monthFirst !== null && dayFirst !== null && monthFirst !== dayFirst) return null
  return monthFirst ?? dayFirst
}

const BIRTH_YEAR_MIN = 1_900

function toCalendarDate(year = '', month = '', day = ''): string | null {
  const [y, m, d] = [Number(year), Number(month), Number(day)]
  if (y < BIRTH_YEAR_MIN) return null
  const date = new Date(Date.UTC(y, m - 1, d))
  // Date.UTC rolls 31 February over into March; a date that moved was never on a calendar.
  if (date.getUTCMonth() !== m - 1 || date.getUTCDate() !== d) return null
  return `${year}${month.padStart(2, '0')}${day.padStart(2, '0')}`
}

function isInFuture(date: string, observedAt: Date): boolean {
  // Most dates are decided by their year; writing out the latest date costs more than all the rest.
  if (Number(date.slice(0, 4)) < observedAt.getUTCFullYear()) return false
  return date > formatLatestDate(observedAt)
}

function formatLatestDate(observedAt: Date): string {
  const latest = new Date(observedAt.getTime() + HOURS_AHEAD_OF_UTC_MAX * HOUR_MILLISECONDS)
  return latest.toISOString().slice(0, 10).replaceAll('-', '')
}

/** The year of a birth date, YYYY. */
export function normalizeBirthYear(
  prepared: string,
  { observedAt }: { observedAt: Date },
): string | null {
  const isYear = /^\d{4}$/.test(prepared) && Number(prepared) >= BIRTH_YEAR_MIN
  return isYear && prepared <= formatLatestDate(observedAt).slice(0, 4) ? prepared : null
}

/** The month of a birth date, MM. */
export function normalizeBirthMonth(prepared: string): string | null {
  return toTwoDigits(prepared, 12)
}

/** The day of a birth date, DD. */
export function normalizeBirthDay(prepared: string): string | null {
  return toTwoDigits(prepared, 31)
}

function toTwoDigits(prepared: string, max: number): string | null {
  const number = /^\d{1,2}$/.test(prepared) ? Number(prepared) : 0
  return number >= 1 && number <= max ? prepared.padStart(2, '0') : null
}

/**
 * Words that name a woman or a man, as forms and shops store them: sex, salutations, titles and
 * kin, in English and in the languages of most customers. Folded: lower case, without accents.
 * Words that mean both in two languages are in neither list.
 */
const FEMALE_WORDS = `
  f female fem femal w woman women girl lady ladies gal lass maiden chick belle she her hers herself
  ms miss mrs mistress madam maam madame mother mom mommy mum mummy mama mamma daughter sister wife
  aunt auntie niece grandmother grandma granddaughter girlfriend bride widow heroine goddess queen
  princess duchess countess empress baroness
  feminin feminine femme fille mme mlle mademoiselle epouse soeur
  weiblich frau fraulein madchen dame tochter schwester
  mujer femenino femenina hembra chica senora senorita sra srta dona
  mulher feminino feminina menina senhora
  femmina femminile donna ragazza signora signorina
  vrouw vrouwelijk vrouwen meisje mevrouw mevr mejuffrouw
  kvinna kvinnlig kvinde kvindelig kvinne kvinnelig flicka pige jente fru frk kona
  nainen naispuolinen tytto rouva neiti
  kobieta zenska zenski pani zena zenske slecna pania
  holgy femeie feminina doamna
  kadin kadın bayan kiz kız hanim hanım
  gynaika thily perempuan wanita
  ж жен женский женская женщина жена женски жінка жіноча жіночий
  γυναικα θηλυ θηλυκο κυρια
  אישה נקבה גברת أنثى امرأة انثى امراة سيدة
  女 女性 女子 女士 小姐 여 여자 여성 महिला स्त्री औरत หญิง ผู้หญิง`

const MALE_WORDS = `
  m male masc mal man men boy gentleman gentlemen guy lad fellow chap bloke dude he him his himself
  mr mister sir lord father dad daddy papa son brother husband uncle nephew grandfather grandpa
  grandson boyfriend groom bridegroom widower hero god king prince duke count emperor baron
  masculin masculine homme garcon monsieur frere
  mannlich herr junge knabe sohn bruder
  hombre masculino varon macho chico senor sr
  homem menino senhor
  maschio maschile uomo ragazzo signor signore
  mannelijk heer meneer dhr jongen
  manlig mand mandlig mann mannlig pojke dreng gutt herre
  mies miespuolinen poika herra
  mezczyzna meski muz muzsky muski muzske
  ferfi barbat domnul
  erkek bay oglan
  andras arren laki pria
  м муж мужской мужская мужчина мъж чоловік чоловіча чоловічий
  ανδρας αρρεν αρσενικο κυριος
  גבר זכר אדון ذكر رجل سيد
  男 男性 男子 先生 남 남자 남성 पुरुष आदमी ชาย ผู้ชาย`

const GENDERS = new Map([...readWords(FEMALE_WORDS, 'f'), ...readWords(MALE_WORDS, 'm')])

function readWords(text: string, gender: 'f' | 'm'): [string, 'f' | 'm'][] {
  return text
    .trim()
    .split(/\s+/)
    .map(word => [foldWord(word), gender])
}

/** Latin and Greek letters lose their accents; in other scripts they are letters of their own. */
function foldWord(word: string): string {
  return word
    .normalize('NFKD')
    .replace(/(?<=[\p{Script=Latin}\p{Script=Greek}])\p{M}+/gu, '')
    .normalize('NFC')
}

const WORD = /[\p{L}\p{M}]+(?:['’´`][\p{L}\p{M}]+)*/gu
const WORDS_MAX = 4

/**
 * `f` or `m`, when every word says the same: `Mr.`, `Ma'am`, `1 - Female`, `laki-laki`. Null for
 * other words, for two genders at once, and for a word with a digit inside.
 */
export function normalizeGender(prepared: string): 'f' | 'm' | null {
  if (/\p{L}\d+\p{L}/u.test(prepared)) return null
  const words = prepared.match(WORD) ?? []
  if (words.length > WORDS_MAX) return null
  const genders = new Set(words.map(word => GENDERS.get(foldWord(word.replace(/['’´`]/g, '')))))
  const [gender] = genders
  return genders.size === 1 && gender !== undefined ? gender : null
}
