import vectors from '../../service/signals/platforms/meta/vectors/meta-hash-vectors.json' with {
  type: 'json',
}

/** One value of one `user_data` key, as a shop sends it. */
export interface NormalizationCase {
  field: string
  input: string | number
  /** The `country` beside it. Only our rules use it. */
  country?: string
}

/** The result of one implementation for a value. */
export type Outcome =
  /** The text that is hashed. */
  | string
  /** Left out. */
  | null
  /** Sent without hashing: a digest already, or an ID. */
  | { kept: string }
  /** It throws, so that the caller loses the event or must handle the error. */
  | { error: true }
  /** The implementation does not have the key. */
  | 'unsupported:'

export const UNSUPPORTED = 'unsupported:'

export interface Implementation {
  id: string
  name: string
  /** In a table. */
  short: string
  version: string
  /** How the results were obtained. */
  source: string
}

/** The recorded results; `record-implementations.ts` writes them. */
export interface Recording {
  recordedOn: string
  implementations: Implementation[]
  /** In the order of the cases, by the ID of the implementation. */
  results: { field: string; input: string | number; outcomes: Record<string, Outcome> }[]
}

/** Values of one field, without a country beside them. */
function casesOf(field: string, inputs: (string | number)[]): NormalizationCase[] {
  return inputs.map(input => ({ field, input }))
}

const ZEROS = '0'.repeat(64)

const OTHER_CASES: NormalizationCase[] = [
  ...casesOf('em', [
    'ａｎｎ@ｅｘａｍｐｌｅ．ｃｏｍ',
    'ja\u200bne@example.com',
    'jane..doe@example.com',
  ]),
  ...casesOf('em', ['{{email}}', 'N/A', ZEROS]),
  { field: 'ph', input: '(650)555-1212', country: 'United States' },
  { field: 'ph', input: '0612345678', country: 'FRA' },
  ...casesOf('ph', ['+001 (616) 954-78 88', '0044 20 7946 0958', '+52 1 55 1234 5678']),
  ...casesOf('ph', ['＋８１ ９０－１２３４－５６７８', 16_505_551_212, '4792813113', '3227352263']),
  ...casesOf('ph', ['1_650_555_1212', '+49\u200b30 901820', '(555) 123-4567', '+1 555 123 4567']),
  ...casesOf('fn', ['７', 7, 'Ｍａｒｙ', 'Null', 'undefined', 'Ja\u00adne']),
  { field: 'ln', input: 'O´Brien' },
  ...casesOf('db', ['1997-02-16', '19970216', 19_970_216, '1997-02-16T00:00:00.000Z']),
  ...casesOf('db', ['02/03/1997', '1997-02-31', '20990101', '1990_12_31', '1990|12|31']),
  ...casesOf('db', ['12:31:1990', '1990-15-06', '1990年12月31日']),
  ...casesOf('ge', ['Mrs', 'weiblich', 'Herr', 'femme', 'he/him', 'male123', 'mal3e']),
  ...casesOf('ct', ['None', '(not set)', 'New\u200b York']),
  { field: 'st', input: 'California' },
  { field: 'st', input: 'California', country: 'us' },
  { field: 'st', input: 'Washington, D.C.', country: 'us' },
  { field: 'st', input: 'US-CA', country: 'us' },
  { field: 'st', input: 'Québec', country: 'Canada' },
  { field: 'st', input: 'Ontario', country: 'ca' },
  { field: 'st', input: 'Georgia', country: 'us' },
  ...casesOf('st', ['Georgia', 'Texas, USA', 'Tex.', 'Palau', 'Armed Forces Europe', 'Carolina']),
  ...casesOf('zp', ['１２３４５', 94_035, '2134']),
  { field: 'zp', input: 2_134, country: 'us' },
  { field: 'zp', input: '12345-6789', country: 'sa' },
  ...casesOf('country', ['USA', 'United States', 'The Netherlands', 'DEU', 'Deutschland']),
  ...casesOf('country', ['Österreich', '日本', 'Kongo', 'United States (US)', 'Bahamas, The']),
  ...casesOf('country', ['Congo, The Democratic Republic of the', 'Palestine, State of', 'U.K.']),
  ...casesOf('external_id', [42, 'undefined', 'user 42', 'us\u200ber-42', '{{user_id}}', ZEROS]),
  ...casesOf('fi', ['Mary', '𐐨bc']),
  { field: 'f5first', input: 'Christopher' },
  { field: 'f5last', input: "O'Brien" },
  { field: 'doby', input: '1997' },
  { field: 'dobm', input: '2' },
  { field: 'dobd', input: '31' },
  { field: 'app_user_id', input: ' User-7 ' },
]

const FIELDS = [
  ...['em', 'ph', 'fn', 'ln', 'db', 'ge', 'ct', 'st', 'zp', 'country', 'external_id'],
  ...['fi', 'f5first', 'f5last', 'doby', 'dobm', 'dobd', 'app_user_id'],
]

/** The vectors and cases that they do not have, by field. */
export const CASES: readonly NormalizationCase[] = [
  ...vectors.map(({ field, input }): NormalizationCase => ({ field, input })),
  ...OTHER_CASES,
].sort((one, other) => FIELDS.indexOf(one.field) - FIELDS.indexOf(other.field))
