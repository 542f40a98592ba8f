import { Metadata } from 'libphonenumber-js/core'
import type { CountryCode, PhoneNumber } from 'libphonenumber-js/min'
import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import metadata from 'libphonenumber-js/min/metadata'

/** E.164 has 15 digits; the rest is for punctuation and a `tel:` prefix. */
const PHONE_CHARACTERS_MAX = 64

/**
 * Ten digits are how much of the world writes a national number, and more than one in ten of the
 * US ones would pass for a number of another country. Meta's own sample, 16505551212, has eleven.
 */
const BARE_DIGITS_MIN = 11

/** `+001` and `+0044`: the + and the 00 mean the same, and Meta's page drops leading zeros. */
const PLUS_AND_00 = /^\+[\s().-]*0[\s().-]*0[\s().-]*/

const BARE_NUMBER = /^[\d\s().-]+$/

/**
 * Signs between the digits that some forms and countries use. Not # * , ; and x, which begin an
 * extension, and not /, after which some companies write a second number.
 */
const SEPARATORS = /[_|[\]{}\u00b7\u2022\p{Pd}]+/gu

/**
 * A phone number as its digits with the country code.
 * `country` is a lower-case ISO 3166-1 code and gives national numbers theirs. Without it a
 * number needs +, 00, or the bare digits of a whole international number. Null for anything
 * incomplete, impossible or with an extension, since those digits identify no one, or many people.
 *
 * Cost on Node 24: 0.4 microseconds for a number that `parsePlainInternational` decides, 4 to 10
 * for the others (60,000 calls in a loop, process.hrtime). The `min` metadata pass every vector;
 * `max` is as fast and twice as large.
 */
export function normalizePhone(text: string, country: string | null): string | null {
  if (text.length > PHONE_CHARACTERS_MAX) return null
  // In this form nothing is to be prepared.
  const plain = parsePlainInternational(text)
  if (plain !== null) return plain
  const number = text.normalize('NFKC').replace(/^tel:/i, '').replace(SEPARATORS, '-').trim()
  if (number.startsWith('+')) return parseValidDigits(number.replace(PLUS_AND_00, '+'), null)
  const national = country === null ? null : parseValidDigits(number, country)
  return national ?? parseValidDigits(toInternationalForm(number), null)
}

function toInternationalForm(number: string): string {
  if (!BARE_NUMBER.test(number)) return ''
  const digits = number.replace(/\D/g, '')
  if (digits.startsWith('00')) return `+${digits.slice(2)}`
  return digits.length >= BARE_DIGITS_MIN ? `+${digits}` : ''
}

function parseValidDigits(number: string, country: string | null): string | null {
  if (number === '') return null
  const plain = parsePlainInternational(number)
  if (plain !== null) return plain
  const parsed = parsePhoneNumberFromString(number, {
    extract: false,
    // The library ignores an unknown country, so the type assertion is safe.
    ...(country !== null && { defaultCountry: country.toUpperCase() as CountryCode }),
  })
  if (parsed === undefined || parsed.ext !== undefined) return null
  return parsed.isValid() ? parsed.number.slice(1) : parseMexicanMobile(parsed)
}

const MEXICO = '52'

/**
 * Mexican mobile numbers had a 1 after the country code until 2019, and many are still stored so.
 * Meta's page removes symbols, letters and leading zeros only, so the 1 is hashed with the number.
 */
function parseMexicanMobile(parsed: PhoneNumber): string | null {
  const { countryCallingCode, nationalNumber } = parsed
  if (countryCallingCode !== MEXICO || !/^1\d{10}$/.test(nationalNumber)) return null
  const isValid = parsePlainInternational(`+${MEXICO}${nationalNumber.slice(1)}`) !== null
  return isValid ? `${MEXICO}${nationalNumber}` : null
}

/** No letters, so no extension; no zero first, so a calling code. */
const PLAIN_INTERNATIONAL = /^\+[1-9][\d ().-]*\d$/
const CALLING_CODE_DIGITS_MAX = 3
const NATIONAL_DIGITS_MIN = 2
const NATIONAL_DIGITS_MAX = 17

/**
 * The digits of a number that is valid for certain: in international form, without a national
 * prefix, and by the patterns of the country that its calling code belongs to first (+1 is the
 * United States before it is Canada). These are the steps that the library takes for such a number,
 * with its own patterns; it compiles them for each number, and here they are compiled once. Null
 * when the library is to be asked. `normalize-phone.property.test.ts` compares the two.
 */
function parsePlainInternational(number: string): string | null {
  if (!number.startsWith('+') || !PLAIN_INTERNATIONAL.test(number)) return null
  const digits = number.replace(/\D+/g, '')
  for (let length = 1; length <= CALLING_CODE_DIGITS_MAX; length += 1) {
    const plan = getNumberingPlan(digits.slice(0, length))
    if (plan !== null) return matchesNumberingPlan(digits.slice(length), plan) ? digits : null
  }
  return null
}

interface NumberingPlan {
  nationalPrefix: RegExp | null
  nationalNumber: RegExp
  /** One of them must fit too, where countries share the calling code. */
  types: { lengths: readonly number[]; pattern: RegExp }[] | null
}

function matchesNumberingPlan(national: string, plan: NumberingPlan): boolean {
  if (national.length < NATIONAL_DIGITS_MIN || national.length > NATIONAL_DIGITS_MAX) return false
  if (plan.nationalPrefix?.test(national) || !plan.nationalNumber.test(national)) return false
  return (
    plan.types === null ||
    plan.types.some(
      ({ lengths, pattern }) => lengths.includes(national.length) && pattern.test(national),
    )
  )
}

/** By calling code; null for no code, or one whose numbers only the library can validate. */
const numberingPlans = new Map<string, NumberingPlan | null>()

function getNumberingPlan(callingCode: string): NumberingPlan | null {
  let plan = numberingPlans.get(callingCode)
  if (plan === undefined) {
    plan = buildNumberingPlan(callingCode)
    numberingPlans.set(callingCode, plan)
  }
  return plan
}

/** Members of the library's numbering plans that its types leave out. */
interface LibraryPlan {
  nationalNumberPattern(): string
  nationalPrefixForParsing(): string | undefined
  leadingDigits(): string | undefined
  hasTypes(): boolean
  type(name: string): LibraryType | undefined
}

interface LibraryType {
  pattern(): string | undefined
  possibleLengths(): readonly number[]
}

function buildNumberingPlan(callingCode: string): NumberingPlan | null {
  const countries = metadata.country_calling_codes[callingCode]
  const country = countries?.[0]
  if (country === undefined) return null
  const selector = new Metadata(metadata)
  selector.selectNumberingPlan(country)
  const plan = selector.numberingPlan as unknown as LibraryPlan
  const isShared = countries !== undefined && countries.length > 1
  if (isShared && (plan.leadingDigits() || !plan.hasTypes())) return null
  const prefix = plan.nationalPrefixForParsing()
  return {
    nationalPrefix: prefix ? new RegExp(`^(?:${prefix})`) : null,
    nationalNumber: anchored(plan.nationalNumberPattern()),
    types: plan.hasTypes() ? buildTypes(plan) : null,
  }
}

const NUMBER_TYPES =
  `FIXED_LINE MOBILE PREMIUM_RATE TOLL_FREE SHARED_COST VOIP PERSONAL_NUMBER PAGER UAN
  VOICEMAIL`.split(/\s+/)

function buildTypes(plan: LibraryPlan): NumberingPlan['types'] {
  return NUMBER_TYPES.flatMap(name => {
    const type = plan.type(name)
    const pattern = type?.pattern()
    return type && pattern ? [{ lengths: type.possibleLengths(), pattern: anchored(pattern) }] : []
  })
}

function anchored(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`)
}
