import { LRUCache } from 'lru-cache'
import type { LookupDigests } from '../identity/lookup-digests.ts'
import { LOOKUP_KEYS } from '../identity/lookup-forms.ts'

const GRANTED = [
  '"ad_user_data":"granted"',
  '"ad_personalization":"granted"',
  '"ad_storage":"granted"',
  '"analytics_storage":"granted"',
]
const BY_CONSENT =
  '"decision":{"outcome":"granted","reason":"granted_by_consent","granted_by":["consent"],' +
  '"denied_by":[],"inputs":{"consent":{"state":"granted","why":"words_granted","field":"consent.'

const CONSENT = [
  `{${GRANTED.join(',')},"captured_at":`,
  `{${GRANTED.join(',')}`,
  `,${BY_CONSENT}ad_user_data","captured_at":`,
  BY_CONSENT,
  '}},"rules_version":"1","captured_at":',
  ...GRANTED,
  '"denied"',
  '"granted"',
  '"captured_at":',
  '"decision":{"outcome":',
  '"reason":"attested_by_basis","granted_by":[],"denied_by":[],"inputs":{',
  '"reason":"legitimate_interest","granted_by":[],"denied_by":[],"inputs":{',
  '"reason":',
  '"granted_by":["',
  '"denied_by":[],"inputs":{',
  '{"state":"granted","why":"',
  '{"state":"unknown","why":"',
  'words_granted","field":"consent.',
  'tc_ad_purposes_granted","field":"tcf',
  '"consent_mode":{',
  '"tcf":{',
]

const VALUE = [
  '{"value":"',
  '","currency":"',
  ',"order_id":"',
  ',"contents":[{"id":"',
  '","title":"',
  '","quantity":',
  ',"quantity":',
  ',"item_price":"',
  '"},{"id":"',
  '"}],"num_items":',
  '","category":"',
]

const USER_DATA = [
  '{"digests":{"em":["',
  '{"digests":{"',
  '"],"ph":["',
  '"],"fn":["',
  '"],"ln":["',
  '"],"ct":["',
  '"],"st":["',
  '"],"zp":["',
  '"],"country":["',
  '"],"external_id":["',
  '"]},"plain":{"client_ip_address":"',
  '"]},"plain":{"',
  '","client_user_agent":"Mozilla/5.0 (',
  'client_user_agent":"Mozilla/5.0 (',
  ',"fbp":0',
  ',"fbc":0',
  'Windows NT 10.0; Win64; x64',
  'Macintosh; Intel Mac OS X 10_15_7',
  'X11; Linux x86_64',
  'Linux; Android ',
  'iPhone; CPU iPhone OS ',
  ') AppleWebKit/537.36 (KHTML, like Gecko) Chrome/',
  ') AppleWebKit/605.1.15 (KHTML, like Gecko) Version/',
  ' like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ',
  '.0.0.0 Safari/537.36',
  '.0.0.0 Mobile Safari/537.36',
  ' Mobile/15E148',
  ' Safari/604.1',
  ' Safari/605.1.15',
  ' Edg/',
]

const CLICK_IDS = [
  '{"fbc":"fb.1.',
  '","fbp":"fb.1.',
  '{"fbp":"fb.1.',
  '"fbclid":"',
  '"gclid":"',
  '"}',
]

/**
 * The common phrases of each column, as `JSON.stringify` writes them. Rows hold indexes into these
 * lists, so phrases never move and new ones go to the end.
 */
export const COLUMN_DICTIONARIES = {
  consent: CONSENT,
  value: VALUE,
  userData: USER_DATA,
  clickIds: CLICK_IDS,
} as const satisfies Record<string, readonly string[]>

/**
 * Compresses the JSON of one column with a dictionary: phrases that most rows have in common become
 * two characters each, in a JSON string. The events of a caller differ only in their values, and
 * PostgreSQL never compresses rows smaller than 2 KB, regardless of `toast_tuple_target`
 * (docs/decisions/0025).
 *
 *     ~A to ~Z, ~a to ~z   a phrase, by its index in the dictionary
 *     ~0                   a text that follows from other columns of the row
 *     '                    a quote, which would need a backslash in a JSON string
 *     ~'  ~~               an apostrophe, a tilde
 *
 * Rows hold dictionary indexes, so phrases are only appended. An unused phrase does no harm.
 */
export class DictionaryCodec {
  readonly #codes: Map<string, string>
  readonly #phrases: Map<string, string>
  readonly #pattern: RegExp
  readonly #repeated: LRUCache<string, string> | null

  /** `repeats`: many rows have the same text, apart from what is given. */
  constructor(phrases: readonly string[], { repeats = false } = {}) {
    this.#repeated = repeats ? new LRUCache({ max: REPEATED_TEXTS_MAX }) : null
    if (phrases.length > CODES.length) throw new Error('the dictionary has more phrases than codes')
    this.#codes = new Map([
      ...Object.entries(CHARACTER_CODES),
      ...phrases.map((phrase, index): [string, string] => [phrase, `~${CODES[index]}`]),
    ])
    this.#phrases = new Map([...this.#codes].map(([part, code]) => [code, part]))
    // The first match wins, so the longest phrase comes first.
    const parts = [...this.#codes.keys()].sort((a, b) => b.length - a.length)
    this.#pattern = new RegExp(parts.map(escapePattern).join('|'), 'g')
  }

  /** Takes the text of `JSON.stringify`. `given` follows from other columns of the row. */
  encode(text: string, given: string | null = null): string {
    const isShort = given === null || given.length <= GIVEN_CODE.length
    const marked = isShort ? text : text.replaceAll(given, GIVEN_MARK)
    const known = this.#repeated?.get(marked)
    if (known !== undefined) return known
    const replaced = marked.replace(this.#pattern, part => this.#codes.get(part) as string)
    const encoded = `"${replaced.replaceAll('\\', '\\\\')}"`
    if (marked.length <= REPEATED_CHARACTERS_MAX) this.#repeated?.set(marked, encoded)
    return encoded
  }

  /** Takes the parsed value of the column. Before there were dictionaries, it was no string. */
  decode(stored: unknown, given: string | null = null): unknown {
    if (typeof stored !== 'string') return stored
    const text = stored.replace(CODE_PATTERN, code => {
      const part = code === GIVEN_CODE ? given : this.#phrases.get(code)
      if (typeof part === 'string') return part
      throw new Error(`a stored column has the code ${code}, which this version does not know`)
    })
    return JSON.parse(text)
  }
}

const REPEATED_TEXTS_MAX = 500
const REPEATED_CHARACTERS_MAX = 1_000
const CODES = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Stands for `given` while phrases are replaced. JSON never contains it unescaped. */
const GIVEN_MARK = '\x01'
const GIVEN_CODE = '~0'
const CHARACTER_CODES = { '"': "'", "'": "~'", '~': '~~', [GIVEN_MARK]: GIVEN_CODE }
const CODE_PATTERN = /~.|'/g

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/**
 * Groups of lookup digests. A digest that is also among those of the default platform is stored as
 * its place there, and a group of it alone is left out. Undefined when no group is left: most
 * events have one digest for each value, and add nothing. Earlier versions ignore the member.
 */
export function encodeLookup(
  lookup: LookupDigests | undefined,
  digests: Record<string, string[]>,
): EncodedLookup | undefined {
  const encoded: EncodedLookup = {}
  for (const [key, groups] of Object.entries(lookup ?? {})) {
    const known = digests[key] ?? []
    const others = groups
      .map(group =>
        group.map(one => {
          const place = known.indexOf(one)
          return place === -1 ? encodeDigest(one) : place
        }),
      )
      .filter(([first, ...rest]) => typeof first === 'string' || rest.length > 0)
    if (others.length > 0) encoded[key] = others
  }
  return Object.keys(encoded).length === 0 ? undefined : encoded
}

/** The stored groups, and a group for each other digest of the default platform. */
export function decodeLookup(
  encoded: EncodedLookup,
  digests: Record<string, string[]>,
): LookupDigests {
  const lookup: Record<string, string[][]> = {}
  for (const key of [...LOOKUP_KEYS, 'visitor_id', 'free_text']) {
    const known = digests[key] ?? []
    const groups = (encoded[key] ?? []).map(group =>
      group.map(one => (typeof one === 'number' ? (known[one] as string) : decodeDigest(one))),
    )
    const rest = known.filter(one => !groups.some(group => group.includes(one)))
    if (groups.length + rest.length > 0) lookup[key] = [...groups, ...rest.map(one => [one])]
  }
  return lookup
}

export type EncodedLookup = Record<string, (string | number)[][]>

export function recodeDigests<From, To>(
  digests: Record<string, From[]>,
  recode: (digest: From, key: string) => To,
): Record<string, To[]> {
  const recoded: Record<string, To[]> = {}
  for (const key of Object.keys(digests)) {
    recoded[key] = (digests[key] as From[]).map(one => recode(one, key))
  }
  return recoded
}

const DIGEST_BYTES = 32
const BASE64URL_DIGEST = /^[\w-]{43}$/

/** One buffer for all, so that nothing is allocated but the text. */
const scratch = Buffer.alloc(DIGEST_BYTES)

/** Hexadecimal digests are in lower case. Bytes are written up to the first other character. */
export function encodeDigest(digest: string): string {
  const isHex = digest.length === 2 * DIGEST_BYTES && scratch.write(digest, 'hex') === DIGEST_BYTES
  return isHex ? scratch.toString('base64url') : digest
}

export function decodeDigest(digest: string): string {
  if (!BASE64URL_DIGEST.test(digest)) return digest
  scratch.write(digest, 'base64url')
  return scratch.toString('hex')
}
