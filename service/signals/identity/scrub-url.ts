import { LRUCache } from 'lru-cache'
import {
  containsEmail,
  decodePercentEncoding,
  decodeText,
  decodeWrittenMarks,
  isFormattedPhone,
} from './identifier-formats.ts'

interface ScrubbedUrl {
  /** The URL with identifiers replaced, at most `SCRUBBED_URL_CHARACTERS_MAX` characters long. */
  url: string
  /** Where something was replaced: `userinfo`, `path`, `fragment`, `query` or `query.<name>`. */
  scrubbed: string[]
}

export const SCRUBBED_URL_CHARACTERS_MAX = 4_096
const SCRUBBED_PLACES_MAX = 20
const REDACTED = 'REDACTED'

/**
 * Replaces raw identifiers in a URL before it is stored: parameters with a sensitive name; values,
 * path segments and fragments that are an email address or a formatted phone number, also
 * percent-encoded several times or inside a nested URL; user names and passwords before the host.
 * An @ that is written as in HTML or JSON becomes one, since its & would divide an address.
 * Everything else stays byte for byte, even if the text is no URL.
 */
export function scrubUrl(url: string): ScrubbedUrl {
  const places = new Set<string>()
  const { head, query, fragment } = splitUrl(truncateBetweenParts(decodeWrittenMarks(url)))
  const whole =
    scrubHead(head, places) + scrubQuery(query, places) + scrubFragment(fragment, places)
  return {
    url: whole.slice(0, SCRUBBED_URL_CHARACTERS_MAX),
    scrubbed: [...places].slice(0, SCRUBBED_PLACES_MAX),
  }
}

/** Half an email address would not be recognized, so the cut is between two parts. */
function truncateBetweenParts(url: string): string {
  if (url.length <= SCRUBBED_URL_CHARACTERS_MAX) return url
  const kept = url.slice(0, SCRUBBED_URL_CHARACTERS_MAX)
  return kept.slice(0, Math.max(0, ...['/', '?', '&', '#'].map(mark => kept.lastIndexOf(mark))))
}

function splitUrl(url: string): { head: string; query: string; fragment: string } {
  const hash = url.indexOf('#')
  const beforeHash = hash === -1 ? url : url.slice(0, hash)
  const question = beforeHash.indexOf('?')
  return {
    head: question === -1 ? beforeHash : beforeHash.slice(0, question),
    query: question === -1 ? '' : beforeHash.slice(question),
    fragment: hash === -1 ? '' : url.slice(hash),
  }
}

function scrubHead(head: string, places: Set<string>): string {
  // Browsers read \ as / and any number of slashes as two, so the authority is found their way.
  const [scheme = ''] = /^(?:[a-z][a-z0-9+.-]*:)?(?:[\\/]{2,})?/i.exec(head) ?? []
  const rest = head.slice(scheme.length)
  const isHierarchical = /[\\/]$/.test(scheme)
  const authority = isHierarchical ? (/^[^\\/]*/.exec(rest)?.[0] ?? '') : ''
  return (
    scheme + scrubAuthority(authority, places) + scrubPath(rest.slice(authority.length), places)
  )
}

function scrubAuthority(authority: string, places: Set<string>): string {
  const at = authority.lastIndexOf('@')
  if (at < 1) return scrubPath(authority, places)
  if (authority.slice(0, at) !== REDACTED) places.add('userinfo')
  return `${REDACTED}${authority.slice(at)}`
}

function scrubPath(path: string, places: Set<string>): string {
  if (!MAY_IDENTIFY.test(path)) return path
  return path.replace(/[^\\/]+/g, segment => {
    if (!isIdentifying(segment)) return segment
    places.add('path')
    return REDACTED
  })
}

function scrubQuery(query: string, places: Set<string>): string {
  return query.replace(/[^?&]+/g, parameter => scrubParameter(parameter, 'query', places))
}

/** A fragment is a path, a query or both: `#/account?email=...`, `#access_token=...`. */
function scrubFragment(fragment: string, places: Set<string>): string {
  if (fragment === '') return fragment
  return fragment.replace(/[^#?&\\/]+/g, part => scrubParameter(part, 'fragment', places))
}

function scrubParameter(parameter: string, place: string, places: Set<string>): string {
  const equals = parameter.indexOf('=')
  const name = equals === -1 ? parameter : parameter.slice(0, equals)
  const value = equals === -1 ? '' : parameter.slice(equals + 1)
  const isNameBad = isIdentifying(name)
  const isValueBad = value !== '' && (isSensitiveParameter(name) || isIdentifying(value))
  if (value === REDACTED ? !isNameBad : !isNameBad && !isValueBad) return parameter
  places.add(place === 'query' && /^[a-z][\w.[\]-]{0,39}$/i.test(name) ? `query.${name}` : place)
  const keptName = isNameBad ? REDACTED : name
  if (equals === -1) return keptName
  return `${keptName}=${isValueBad ? REDACTED : value}`
}

/**
 * No email address is without an @, no parameter without =, and no phone number has fewer than
 * eight digits, unless they are percent-encoded. Asking this first takes half of the time.
 */
const MAY_IDENTIFY = /[@＠﹫%=]|(?:\d\D*){8}/

/** Whether a piece of a URL has an identifier, directly or as a parameter nested inside it. */
function isIdentifying(piece: string): boolean {
  if (!MAY_IDENTIFY.test(piece)) return false
  // A full-width @ is an @ to the next program that normalizes the text.
  const text = decodeText(piece).normalize('NFKC')
  if (containsEmail(text) || isFormattedPhone(text)) return true
  if (!text.includes('=')) return false
  return text.split(/[?&;#]/).some(pair => {
    const equals = pair.indexOf('=')
    if (equals < 1 || equals === pair.length - 1) return false
    return pair.slice(equals + 1) !== REDACTED && isSensitiveParameter(pair.slice(0, equals))
  })
}

/** Whole parameter names, lower case and without punctuation, whose values identify a person. */
const SENSITIVE_NAMES = new Set(
  `email emailaddress em mail usermail phone phonenumber ph tel telephone mobile mobilenumber cell
  msisdn fn ln firstname fname givenname lastname lname familyname surname fullname name username
  login address addr street streetaddress zip zipcode zp postcode postalcode dob birthdate birthday
  dateofbirth ssn passport iban cardnumber ccnumber cvv cvc password passwd passphrase pass pwd
  token secret apikey auth authorization jwt otp sessionid`.split(/\s+/),
)

/** Last words that are sensitive after any first word: billing_email, id_token, userPhone. */
const SENSITIVE_LAST_WORDS = new Set(
  `email mail phone tel telephone mobile firstname lastname dob ssn password passwd token
  secret`.split(/\s+/),
)

const PARAMETER_NAME_CHARACTERS_MAX = 200

/**
 * Whether a URL parameter of this name carries a raw identifier or a secret. Reads camelCase,
 * snake_case, kebab-case, brackets and dots: `user[email]`, `customer.firstName`, `emails[0]`.
 */
function isSensitiveParameter(rawName: string): boolean {
  const known = sensitivityByName.get(rawName)
  if (known !== undefined) return known
  const isSensitive = hasSensitiveWord(rawName)
  if (CACHEABLE_NAME.test(rawName)) sensitivityByName.set(rawName, isSensitive)
  return isSensitive
}

/**
 * Shops use the same few parameters in every URL, and judging one takes half a microsecond. Only
 * what reads like the name of a parameter is remembered, so that no identifier is.
 */
const sensitivityByName = new LRUCache<string, boolean>({ max: 1_000 })
const CACHEABLE_NAME = /^[a-z][a-z_-]{0,39}$/i

function hasSensitiveWord(rawName: string): boolean {
  const segments = decodePercentEncoding(rawName.slice(-PARAMETER_NAME_CHARACTERS_MAX)).split(
    /[.:[\]/]+/,
  )
  const segment = segments.findLast(part => /[a-z]/i.test(part)) ?? ''
  const words = segment
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/\d+$/, '')
    .split(/[^a-z\d]+/)
    .filter(word => word !== '')
  const joined = words.join('')
  return [joined, joined.replace(/s$/, '')].some(
    name =>
      SENSITIVE_NAMES.has(name) || SENSITIVE_LAST_WORDS.has(words.at(-1)?.replace(/s$/, '') ?? ''),
  )
}
