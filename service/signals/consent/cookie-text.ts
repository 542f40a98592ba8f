import { isObject } from '../../runtime/util/is-object.ts'

/** Longer texts are not parsed. Cookies have at most 4,096 bytes. */
const TEXT_LENGTH_MAX = 8_192

/** What cannot be the text of a cookie: addresses, times, and texts without any structure. */
const PLAIN_TEXT = /^[\w\s.-]*$|^\w+:\/\/|^\d{4}-\d\d-\d\dT/

/**
 * Parses the text of a cookie as consent platforms write them: JSON, the literals of JavaScript,
 * `a:b,c:d`, `a=b&c=d`, percent-encoded or in Base64. Null for other text. Never throws.
 */
export function parseCookieText(text: string): object | null {
  if (text.length > TEXT_LENGTH_MAX || PLAIN_TEXT.test(text)) return parseBase64(text)
  const decoded = decodePercents(text).replace(/^[\s!,;|&]+/, '')
  if (/^["{[]/.test(decoded)) return parseJson(decoded) ?? parseLiteral(decoded)
  return parseBase64(decoded) ?? parsePairs(decoded)
}

/** The text without percent-encoding, of which cookies may have two layers. */
export function decodePercents(text: string): string {
  if (text.length > TEXT_LENGTH_MAX || !text.includes('%')) return text
  let decoded = text
  for (let round = 0; round < 2 && /%[0-9a-f]{2}/i.test(decoded); round += 1) {
    try {
      decoded = decodeURIComponent(decoded)
    } catch {
      return decoded
    }
  }
  return decoded
}

function parseJson(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    // JSON in a JSON string.
    if (typeof value === 'string') return value === text ? null : parseCookieText(value)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

const LITERAL_MEMBER = /["']?([\w$.-]+)["']?\s*:\s*(?:"([^"]*)"|'([^']*)'|([\w.+-]+))/g

/** Cookiebot writes `{necessary:true,marketing:false,method:'explicit'}`. */
function parseLiteral(text: string): object | null {
  const members = [...text.matchAll(LITERAL_MEMBER)].map(
    ([, name = '', quoted, single, bare]): [string, unknown] => [
      name,
      quoted ?? single ?? parseWord(bare ?? ''),
    ],
  )
  return members.length === 0 ? null : fromMembers(members)
}

function parseWord(word: string): unknown {
  if (word === 'true' || word === 'false') return word === 'true'
  return /^-?\d{1,15}$/.test(word) ? Number(word) : word
}

const BASE64_OBJECT = /^eyJ[A-Za-z0-9+/=_-]+$/

function parseBase64(text: string): object | null {
  if (text.length > TEXT_LENGTH_MAX || !BASE64_OBJECT.test(text)) return null
  const value = parseJson(Buffer.from(text, 'base64').toString('utf8'))
  return isObject(value) ? value : null
}

/** Outer before inner separators. HubSpot separates with `_`. */
const SEPARATORS = [/;\s*/, /&/, /!/, /\|/, /(?<=:[a-z]+)_(?=\d+:)/, /,\s*/, /\n/]

function parsePairs(text: string): object | null {
  for (const sign of ['=', ':']) {
    if (!text.includes(sign)) continue
    const splits = SEPARATORS.map(separator => text.split(separator).filter(isFilled))
    for (const parts of [...splits.filter(({ length }) => length > 1), [text]]) {
      const members = parts.flatMap(part => toMember(part, sign))
      // A part may have no value.
      if (members.length > 0 && members.length >= parts.length - 1) return fromMembers(members)
    }
  }
  return null
}

function isFilled(part: string): boolean {
  return part.trim() !== ''
}

const NAME = /^[\p{L}\p{N}\s._$:[\]()/-]{1,80}$/u

function toMember(part: string, sign: string): [string, string][] {
  const at = part.indexOf(sign)
  const name = part.slice(0, at).trim()
  const value = decodePercents(
    part
      .slice(at + 1)
      .replaceAll('+', ' ')
      .trim(),
  )
  if (at < 1 || !NAME.test(name) || (sign === ':' && value === '')) return []
  return [[name, value]]
}

/** Without a prototype, because a text may name `__proto__`. */
function fromMembers(members: [string, unknown][]): object {
  const object: Record<string, unknown> = Object.create(null)
  for (const [name, value] of members) object[name] = value
  return object
}
