import { isCurrencyCode } from '@signalbox/contract/currencies.ts'
import { DECIMAL_PATTERN } from '@signalbox/contract/decimal.ts'
import { isObject } from '../../runtime/util/is-object.ts'

/** One refused event as people look at it: how its member was written, and never what it said. */
export interface RefusedSample {
  at: Date
  requestId: string
  /** The form of the member: letters as `a`, digits as `9`. Empty when there is none to show. */
  form: string
}

const CHARACTERS_MAX = 24

/**
 * The form of the member at a path, such as `"99,99"` for the text 19,95. A person cannot be
 * recognized by it, and a developer sees the comma. A digest is cut as every long text.
 */
export function describeForm(body: unknown, path: string): string {
  if (!isObject(body) || path === '') return ''
  const found = path.split('.').reduce<unknown>(memberOf, body)
  if (found === undefined) return 'missing'
  if (Array.isArray(found)) return `list of ${found.length}`
  if (typeof found === 'string') return `"${maskText(found)}"`
  if (typeof found === 'number') return maskText(String(found))
  return found === null || typeof found === 'boolean' ? String(found) : 'object'
}

function memberOf(parent: unknown, name: string): unknown {
  if (Array.isArray(parent)) return parent[Number(name)]
  return isObject(parent) && Object.hasOwn(parent, name) ? parent[name] : undefined
}

function maskText(text: string): string {
  const shown = [...text.slice(0, 2 * CHARACTERS_MAX)]
  const masked = shown.slice(0, CHARACTERS_MAX).map(maskCharacter).join('')
  return shown.length > CHARACTERS_MAX ? `${masked}…` : masked
}

/** Punctuation and signs of currencies stay: they are what a parser trips over. */
function maskCharacter(character: string): string {
  if (/\p{Lu}/u.test(character)) return 'A'
  if (/[\p{L}\p{M}]/u.test(character)) return 'a'
  if (/\p{N}/u.test(character)) return '9'
  return /[ -/:-@[-`{-~\p{Sc}]/u.test(character) ? character : '?'
}

const DECIMAL = new RegExp(DECIMAL_PATTERN)
const DECIMALS = 6

/** The value of a refused event in millionths; null where it cannot be read. */
export function readRefusedValue(body: unknown): { currency: string; millionths: bigint } | null {
  const given = isObject(body) ? body.value_data : undefined
  if (!isObject(given)) return null
  const text = String(given.value ?? '')
  const currency = String(given.currency ?? '').toUpperCase()
  if (!DECIMAL.test(text) || text.startsWith('-') || !isCurrencyCode(currency)) return null
  const [whole = '0', fraction = ''] = text.split('.')
  return { currency, millionths: BigInt(whole + fraction.padEnd(DECIMALS, '0')) }
}

/** As decimal text. */
export function formatMillionths(millionths: bigint): string {
  const digits = String(millionths).padStart(DECIMALS + 1, '0')
  return `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`
}

/**
 * What the API said about a field, with the path as it is counted. Our sentences name the path and
 * nothing else of the sender; one in which it cannot be replaced is left out.
 */
export function generalizeSentence(sentence: string, path: string, counted: string): string {
  if (path === counted) return sentence
  return sentence.includes(path) ? sentence.replaceAll(path, counted) : ''
}
