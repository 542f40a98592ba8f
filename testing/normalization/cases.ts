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

const OTHER_CASES: NormalizationCase[] = [
  { field: 'em', input: 'ａｎｎ@ｅｘａｍｐｌｅ．ｃｏｍ' },
  { field: 'ph', input: '(650)555-1212', country: 'United States' },
  { field: 'ph', input: '0612345678', country: 'FRA' },
  { field: 'ph', input: '+001 (616) 954-78 88' },
  { field: 'ph', input: '0044 20 7946 0958' },
  { field: 'ph', input: '+52 1 55 1234 5678' },
  { field: 'ph', input: '＋８１ ９０－１２３４－５６７８' },
  { field: 'ph', input: 16_505_551_212 },
  { field: 'fn', input: '７' },
  { field: 'fn', input: 7 },
  { field: 'fn', input: 'Ｍａｒｙ' },
  { field: 'ln', input: 'O´Brien' },
  { field: 'db', input: '1997-02-16' },
  { field: 'db', input: '19970216' },
  { field: 'db', input: 19_970_216 },
  { field: 'db', input: '1997-02-16T00:00:00.000Z' },
  { field: 'db', input: '02/03/1997' },
  { field: 'db', input: '1997-02-31' },
  { field: 'db', input: '20990101' },
  { field: 'st', input: 'California' },
  { field: 'st', input: 'California', country: 'us' },
  { field: 'st', input: 'Washington, D.C.', country: 'us' },
  { field: 'st', input: 'US-CA', country: 'us' },
  { field: 'st', input: 'Québec', country: 'Canada' },
  { field: 'st', input: 'Ontario', country: 'ca' },
  { field: 'zp', input: '１２３４５' },
  { field: 'zp', input: 94_035 },
  { field: 'zp', input: '12345-6789', country: 'sa' },
  { field: 'country', input: 'USA' },
  { field: 'country', input: 'United States' },
  { field: 'country', input: 'The Netherlands' },
  { field: 'country', input: 'DEU' },
  { field: 'country', input: 'Deutschland' },
  { field: 'country', input: 'Österreich' },
  { field: 'country', input: '日本' },
  { field: 'country', input: 'Kongo' },
  { field: 'external_id', input: 42 },
  { field: 'external_id', input: 'undefined' },
  { field: 'fi', input: 'Mary' },
  { field: 'fi', input: '𐐨bc' },
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
