import { containsEmail, isWrittenPhone, percentDecoded } from './identifier-shape.ts'
import { isSensitiveName } from './sensitive-name.ts'

export interface ScrubbedUrl {
  /** The URL with every identifier replaced, at most `scrubbedUrlCharsMax` characters long. */
  url: string
  /** Where something was replaced: `userinfo`, `path`, `fragment`, `query` or `query.<name>`. */
  scrubbed: string[]
}

export const scrubbedUrlCharsMax = 4_096
const scrubbedMax = 20
const REDACTED = 'REDACTED'

/**
 * Takes raw identifiers out of a URL before it is stored: parameters whose name says so
 * (sensitive-name.ts), and values, path segments and fragments that are an e-mail address or a
 * written phone number, percent-encoded any number of times or inside a nested URL, and user
 * names and passwords before the host. Everything else stays byte for byte, even if it is no URL.
 */
export function scrubUrl(url: string): ScrubbedUrl {
  const places = new Set<string>()
  const { head, query, fragment } = partsOf(cutBetweenParts(url))
  const whole =
    scrubHead(head, places) + scrubQuery(query, places) + scrubFragment(fragment, places)
  return { url: whole.slice(0, scrubbedUrlCharsMax), scrubbed: [...places].slice(0, scrubbedMax) }
}

/** Cut inside a part, half an e-mail address would no longer look like one and would stay. */
function cutBetweenParts(url: string): string {
  if (url.length <= scrubbedUrlCharsMax) return url
  const kept = url.slice(0, scrubbedUrlCharsMax)
  return kept.slice(0, Math.max(0, ...['/', '?', '&', '#'].map(mark => kept.lastIndexOf(mark))))
}

function partsOf(url: string): { head: string; query: string; fragment: string } {
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
  const isValueBad = value !== '' && (isSensitiveName(name) || isIdentifying(value))
  if (value === REDACTED ? !isNameBad : !isNameBad && !isValueBad) return parameter
  places.add(place === 'query' && /^[a-z][\w.[\]-]{0,39}$/i.test(name) ? `query.${name}` : place)
  const keptName = isNameBad ? REDACTED : name
  if (equals === -1) return keptName
  return `${keptName}=${isValueBad ? REDACTED : value}`
}

/**
 * No e-mail address is without an @, no parameter without =, and no phone number has fewer than
 * eight digits, unless they are percent-encoded. Asking this first takes half of the time.
 */
const MAY_IDENTIFY = /[@%=]|(?:\d\D*){8}/

/** Whether a piece of a URL holds an identifier, directly or as a parameter nested inside it. */
function isIdentifying(piece: string): boolean {
  if (!MAY_IDENTIFY.test(piece)) return false
  const text = percentDecoded(piece)
  if (containsEmail(text) || isWrittenPhone(text)) return true
  if (!text.includes('=')) return false
  return text.split(/[?&;#]/).some(pair => {
    const equals = pair.indexOf('=')
    if (equals < 1 || equals === pair.length - 1) return false
    return pair.slice(equals + 1) !== REDACTED && isSensitiveName(pair.slice(0, equals))
  })
}
