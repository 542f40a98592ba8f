import { isObject } from '../../runtime/util/is-object.ts'

/** Longer texts are not parsed. Cookies have at most 4,096 bytes. */
const TEXT_LENGTH_MAX = 8_192

/** What cannot be the text of a cookie: addresses, times, and texts without any structure. */
const PLAIN_TEXT = /^[\w\s.-]*$|^\w+:\/\/|^\d{4}-\d\d-\d\dT/

/**
 * Parses the text of a cookie as consent platforms write them: JSON, the literals of JavaScript,
 * `a:b,c:d`, `a=b&c=d`, percent-encoded or in Base64. Null for other text. Never throws.
 *
 * A text is split before it is decoded, because an encoded separator belongs to a value.
 */
export function parseCookieText(text: string): object | null {
  let raw = text.trim()
  for (let round = 0; round <= DECODINGS_MAX; round += 1) {
    if (raw.length > TEXT_LENGTH_MAX || PLAIN_TEXT.test(raw)) return parseBase64(raw)
    const parsed = parseOnce(raw.replace(/^[\s!,;|&?#]+/, ''))
    if (parsed !== null) return parsed
    const decoded = decodeOnce(raw)
    if (decoded === raw) return null
    raw = decoded
  }
  return null
}

function parseOnce(text: string): object | null {
  if (!/^["{[]/.test(text)) return parseBase64(text) ?? parsePairs(text)
  return parseJson(text) ?? (text.includes('%') ? null : parseLiteral(text))
}

/** Cookies may have two layers of encoding, and their values one more. */
const DECODINGS_MAX = 3

/** A cookie may have JSON that is a text alone. */
const QUOTED = /^"([\w -]*)"$/

/** The text without any percent-encoding and without the quotes of JSON. */
export function decodeCookieValue(text: string): string {
  const decoded = decodePercents(text)
  return decoded.startsWith('"') ? decoded.replace(QUOTED, '$1') : decoded
}

function decodePercents(text: string): string {
  let decoded = text
  for (let round = 0; round < DECODINGS_MAX && decoded.length <= TEXT_LENGTH_MAX; round += 1) {
    const next = decodeOnce(decoded)
    if (next === decoded) return decoded
    decoded = next
  }
  return decoded
}

function decodeOnce(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
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

/** Begins at the start of a word only, so that a long word costs its length and not its square. */
const LITERAL_MEMBER = /(?<![\w$.-])["']?([\w$.-]+)["']?\s*:\s*(?:"([^"]*)"|'([^']*)'|([\w.+-]+))/g

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

/** Of a text that begins with `{"`. */
const BASE64_OBJECT = /^ey[I-L][A-Za-z0-9+/=_-]+$/

function parseBase64(text: string): object | null {
  if (text.length > TEXT_LENGTH_MAX || !BASE64_OBJECT.test(text)) return null
  const value = parseJson(Buffer.from(text, 'base64').toString('utf8'))
  return isObject(value) ? value : null
}

/** Outer before inner separators. HubSpot separates with `_`. */
const SEPARATORS = [/;\s*/, /\/\//, /&/, /!/, /\|/, /(?<=:[a-z]+)_(?=\d+:)/, /,\s*/, /\n/]

function parsePairs(text: string): object | null {
  // One pair whose value is a list: `groups=C0001:1,C0004:0`.
  const only = text.split('=').length === 2 ? toMember(text, '=', true) : []
  if (only.length > 0) return fromMembers(only)
  for (const sign of ['=', ':::', '::', ':']) {
    if (!text.includes(sign)) continue
    const splits = SEPARATORS.map(separator => text.split(separator).filter(isFilled))
    // A single pair may have encoded separators in its value.
    const single = text.includes('%') ? [] : [[text]]
    for (const parts of [...splits.filter(({ length }) => length > 1), ...single]) {
      // "0,1,2:" is no pair, but in a list of pairs one may be without a value.
      const mayBeEmpty = sign === '=' || (parts.length > 2 && parts.every(part => /\w:/.test(part)))
      const members = parts.flatMap(part => toMember(part, sign, mayBeEmpty))
      // A part may have no value; one with another sign belongs to the value before it.
      if (sign === '=' && parts.some(part => !part.includes('=') && part.includes(':'))) continue
      if (members.length > 0 && members.length >= parts.length - 1) return fromMembers(members)
    }
  }
  return parseAnsweredNames(text)
}

/** `ads-denied|stats-granted`: two or more names, each with an answer. */
const ANSWERED_NAME = new RegExp(
  '^([a-z][\\w ]*)-(yes|no|on|off|true|false|[01]|granted|denied|allow(?:ed)?|deny|' +
    'accept(?:ed)?|reject(?:ed)?|declined|refused)$',
  'i',
)

function parseAnsweredNames(text: string): object | null {
  const parts = text.split(/[,;|]\s*/).filter(isFilled)
  const members = parts.flatMap((part): [string, string][] => {
    const [, name, answer] = ANSWERED_NAME.exec(part.trim()) ?? []
    return name === undefined || answer === undefined ? [] : [[name, answer]]
  })
  return parts.length > 1 && members.length === parts.length ? fromMembers(members) : null
}

function isFilled(part: string): boolean {
  return part.trim() !== ''
}

const NAME = /^[\p{L}\p{N}\s._$:[\]()/-]{1,80}$/u

function toMember(part: string, sign: string, mayBeEmpty: boolean): [string, string][] {
  const at = part.indexOf(sign)
  const name = part.slice(0, at).trim()
  const value = decodePercents(
    part
      .slice(at + sign.length)
      .replaceAll('+', ' ')
      .trim(),
  )
  if (at < 1 || !NAME.test(name) || (value === '' && !mayBeEmpty)) return []
  return [[name, value]]
}

/** A text may name `__proto__`, which is a member like any other here. */
function fromMembers(members: [string, unknown][]): object {
  return Object.fromEntries(members)
}
