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

  constructor(phrases: readonly string[]) {
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
    const encoded = marked.replace(this.#pattern, part => this.#codes.get(part) as string)
    return `"${encoded.replaceAll('\\', '\\\\')}"`
  }

  /** Takes the parsed value of the column. A value that is not a string is from before 0.5.0. */
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

const CODES = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Stands for `given` while phrases are replaced. JSON never contains it unescaped. */
const GIVEN_MARK = '\x01'
const GIVEN_CODE = '~0'
const CHARACTER_CODES = { '"': "'", "'": "~'", '~': '~~', [GIVEN_MARK]: GIVEN_CODE }
const CODE_PATTERN = /~.|'/g

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

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
