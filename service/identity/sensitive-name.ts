import { percentDecoded } from './identifier-shape.ts'

/** Whole parameter names, lower case and without punctuation, whose values identify a person. */
const NAMES = new Set(
  `email emailaddress em mail usermail phone phonenumber ph tel telephone mobile mobilenumber cell
  msisdn fn ln firstname fname givenname lastname lname familyname surname fullname name username
  login address addr street streetaddress zip zipcode zp postcode postalcode dob birthdate birthday
  dateofbirth ssn passport iban cardnumber ccnumber cvv cvc password passwd passphrase pass pwd
  token secret apikey auth authorization jwt otp sessionid`.split(/\s+/),
)

/** Last words that say the same after any first word: billing_email, id_token, userPhone. */
const LAST_WORDS = new Set(
  `email mail phone tel telephone mobile firstname lastname dob ssn password passwd token
  secret`.split(/\s+/),
)

const nameCharsMax = 200

/**
 * Whether a URL parameter of this name carries a raw identifier or a secret. Reads camelCase,
 * snake_case, kebab-case, brackets and dots: `user[email]`, `customer.firstName`, `emails[0]`.
 */
export function isSensitiveName(rawName: string): boolean {
  const known = judgedNames.get(rawName)
  if (known !== undefined) return known
  const isSensitive = hasSensitiveWord(rawName)
  if (judgedNames.size >= JUDGED_NAMES_MAX) judgedNames.clear()
  if (REMEMBERED_NAME.test(rawName)) judgedNames.set(rawName, isSensitive)
  return isSensitive
}

/**
 * Shops use the same few parameters in every URL, and judging one takes half a microsecond. Only
 * what reads like the name of a parameter is remembered, so that no identifier is.
 */
const judgedNames = new Map<string, boolean>()
const JUDGED_NAMES_MAX = 1_000
const REMEMBERED_NAME = /^[a-z][a-z_-]{0,39}$/i

function hasSensitiveWord(rawName: string): boolean {
  const segments = percentDecoded(rawName.slice(-nameCharsMax)).split(/[.:[\]/]+/)
  const segment = segments.findLast(part => /[a-z]/i.test(part)) ?? ''
  const words = segment
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/\d+$/, '')
    .split(/[^a-z\d]+/)
    .filter(word => word !== '')
  const joined = words.join('')
  return [joined, joined.replace(/s$/, '')].some(
    name => NAMES.has(name) || LAST_WORDS.has(words.at(-1)?.replace(/s$/, '') ?? ''),
  )
}
