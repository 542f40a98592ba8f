/**
 * Writes the JSON of one column as a JSON string in which the phrases that most rows have are two
 * characters each. The events of a caller are alike in all but their values, and PostgreSQL
 * compresses no row of less than 2 KB, whatever its `toast_tuple_target` is (docs/decisions/0025).
 *
 *     ~A to ~Z, ~a to ~z   a phrase, by its place in the list
 *     ~0                   a text that follows from other columns of the row
 *     '                    a quote, which would need a backslash in a JSON string
 *     ~'  ~~               an apostrophe, a tilde
 *
 * Rows hold places in the list: a list only grows, at its end. A phrase that no row has any more
 * does no harm.
 */
export class DictionaryCodec {
  readonly #markOf: Map<string, string>
  readonly #partOf: Map<string, string>
  readonly #parts: RegExp

  constructor(phrases: readonly string[]) {
    if (phrases.length > LETTERS.length) throw new Error('more phrases than there are marks')
    this.#markOf = new Map([
      ...Object.entries(CHARACTER_MARKS),
      ...phrases.map((phrase, index): [string, string] => [phrase, `~${LETTERS[index]}`]),
    ])
    this.#partOf = new Map([...this.#markOf].map(([part, mark]) => [mark, part]))
    // The first that fits is taken, so the longest comes first.
    const parts = [...this.#markOf.keys()].sort((one, other) => other.length - one.length)
    this.#parts = new RegExp(parts.map(escapedPattern).join('|'), 'g')
  }

  /** From the text of `JSON.stringify`; `given` is what follows from other columns of the row. */
  encode(text: string, given: string | null = null): string {
    const isShort = given === null || given.length <= GIVEN_MARK.length
    const marked = isShort ? text : text.replaceAll(given, GIVEN)
    const packed = marked.replace(this.#parts, part => this.#markOf.get(part) as string)
    return `"${packed.replaceAll('\\', '\\\\')}"`
  }

  /** Takes the parsed value of the column. One that is no string was stored before 0.5.0. */
  decode(stored: unknown, given: string | null = null): unknown {
    if (typeof stored !== 'string') return stored
    const text = stored.replace(MARKS, mark => {
      const part = mark === GIVEN_MARK ? given : this.#partOf.get(mark)
      if (typeof part === 'string') return part
      throw new Error(`a column of the ledger has ${mark}, which this version does not know`)
    })
    return JSON.parse(text)
  }
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Stands for what is given while the rest is looked through; JSON escapes it everywhere. */
const GIVEN = '\x01'
const GIVEN_MARK = '~0'
const CHARACTER_MARKS = { '"': "'", "'": "~'", '~': '~~', [GIVEN]: GIVEN_MARK }
const MARKS = /~.|'/g

function escapedPattern(text: string): string {
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
 * What most rows of a column have in common, as `JSON.stringify` writes it. Rows hold places in
 * these lists (packed-json.ts), so a phrase stays where it is and a new one goes to the end.
 */
export const COLUMN_DICTIONARIES = {
  consent: CONSENT,
  value: VALUE,
  userData: USER_DATA,
  clickIds: CLICK_IDS,
} as const satisfies Record<string, readonly string[]>
