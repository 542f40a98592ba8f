/**
 * Digests of identifiers by the rules of the service, so that raw identifiers stay with you. Null
 * when a value cannot be normalized for certain: leave it out, or send it raw and let the service,
 * which knows every numbering plan, decide.
 */
export const hash = { email, phone, externalId }

/** SHA-256 of a normalized email address. A digest is returned as it is, in lower case. */
async function email(text: string): Promise<string | null> {
  return digestUnless(text, () => {
    const prepared = normalizeIdentifier(text)
    const at = prepared.lastIndexOf('@')
    const isAddress =
      prepared.length <= 254 &&
      LOCAL.test(prepared.slice(0, at)) &&
      DOMAIN.test(prepared.slice(at + 1))
    return at > 0 && isAddress ? prepared : null
  })
}

const LOCAL = /^(?:"[^"\s\p{C}]+"|[^\s\p{C}@"<>()[\]:;,\\]+)$/u
const DOMAIN = /^(?:[\p{L}\p{M}\p{N}_-]+\.)+[\p{L}\p{M}\p{N}-]{2,}$/u

/** SHA-256 of a phone number in international form, with + or 00, or of eleven digits with 1. */
async function phone(text: string): Promise<string | null> {
  return digestUnless(text, () => normalizePhone(normalizeIdentifier(text)))
}

/** SHA-256 of your own id of a person: without its white space, in lower case. */
async function externalId(text: string): Promise<string | null> {
  return digestUnless(text, () => {
    const prepared = removeInvisible(text).normalize('NFC').trim().toLowerCase()
    return prepared === '' || isPlaceholder(prepared) ? null : prepared.replace(/\s+/g, '')
  })
}

/** What a variable leaves that was never filled: it would make one person of many. */
const PLACEHOLDERS = [
  ...'undefined|[object object]|(not set)|-|null|none|nan|n/a|nil|(null)|(none)|#n/a|0'.split('|'),
  ...'not set|unknown|(unknown)|(not provided)|(empty)|n\\a|true|false|guest|anonymous'.split('|'),
  '00000000-0000-0000-0000-000000000000',
]
const UNFILLED_FORM = new RegExp(
  '^(?:\\[object \\w+\\]|[!-/:-@\\[-`{-~\\u2010-\\u2015]+|\\{\\{.*\\}\\}|' +
    '[$#]\\{.*\\}|<%.*%>|%%.*%%|%[a-z_. ]+%|\\[\\[.*\\]\\]|\\*\\|.*\\|\\*|' +
    '__[a-z_]+__|\\{[a-z_. ]+\\}|<[a-z_. ]+>|\\[[a-z_. ]+\\])$',
  's',
)

function isPlaceholder(prepared: string): boolean {
  return PLACEHOLDERS.includes(prepared) || UNFILLED_FORM.test(prepared)
}

const SUPPLIED = /^([0-9a-f]{64})(?:\.(?:[\w-]{8}|AQ|Ag|Aw|BA|BQ|Bg))?$/i
const CHARACTERS_MAX = 512

async function digestUnless(text: string, normalize: () => string | null): Promise<string | null> {
  const value = String(text)
  if (value.length > CHARACTERS_MAX) return null
  const supplied = SUPPLIED.exec(removeInvisible(value).trim())?.[1]?.toLowerCase()
  if (supplied) return (await listNobodysDigests()).has(supplied) ? null : supplied
  const normalized = normalize()
  return normalized === null ? null : sha256(normalized)
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(digest)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

const SPELLINGS = 'NaN|[object Object]|{{name}}|{{email}}|{{phone}}|{{user_id}}'.split('|')
let nobodysDigests: Promise<Set<string>> | undefined

/** Digests of nothing and of placeholders, as programs write them. */
function listNobodysDigests(): Promise<Set<string>> {
  const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
  const texts = PLACEHOLDERS.flatMap(text => [text, text.toUpperCase(), capitalize(text)])
  nobodysDigests ??= Promise.all(['', ...texts, ...SPELLINGS].map(sha256)).then(
    digests => new Set([...digests, '0'.repeat(64)]),
  )
  return nobodysDigests
}

const INVISIBLE = /\p{Default_Ignorable_Code_Point}+/gu

/** Without the characters that Unicode lets a program ignore, which come with copied text. */
function removeInvisible(text: string): string {
  return String(text).replace(INVISIBLE, '')
}

/** NFKC, except for accents on their own, before which it would put a space. */
function normalizeIdentifier(text: string): string {
  return removeInvisible(text)
    .replace(/\P{Sk}+/gu, run => run.normalize('NFKC'))
    .trim()
    .toLowerCase()
}

const CALLING_CODE = /^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/
/** Countries whose national numbers begin with 0 in international form too. */
const KEEPS_ZERO = new Set(['39', '225', '241', '242', '378'])
/** Countries where a 0 is dialed before a national number, and only there. */
const DROPS_ZERO = new Set(
  '20 27 31 32 33 40 41 43 44 46 49 61 62 63 64 66 81 82 84 90 91 92 94'.split(' '),
)

/** Digits with the calling code. Null unless the result is the same for the service. */
function normalizePhone(text: string): string | null {
  const number = text.replace(/^tel:/, '').replace(/^00/, '+')
  if (!/^\+?[\d\s().-]+$/.test(number)) return null
  const digits = number.replace(/\D/g, '')
  if (!number.startsWith('+')) return isNorthAmerican(digits) ? digits : null
  const [code = ''] = CALLING_CODE.exec(digits) ?? []
  const national = digits.slice(code.length)
  const isWhole = code !== '' && digits.length >= 8 && digits.length <= 15
  if (!isWhole || (code === '1' && !isNorthAmerican(digits))) return null
  if (!national.startsWith('0') || KEEPS_ZERO.has(code)) return digits
  return DROPS_ZERO.has(code) && national[1] !== '0' ? `${code}${national.slice(1)}` : null
}

function isNorthAmerican(digits: string): boolean {
  return /^1[2-9]\d{2}[2-9]\d{6}$/.test(digits)
}
