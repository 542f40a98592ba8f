interface Section {
  field: string
  title: string
  /** The rule of Meta's page, and our additions. */
  rule: string
}

/** The fields in the order of the page. */
export const SECTIONS: readonly Section[] = [
  {
    field: 'em',
    title: 'Email (`em`)',
    rule: 'Page: trim, lower case. We also require a single address, quoted or in any script.',
  },
  {
    field: 'ph',
    title: 'Phone (`ph`)',
    rule:
      'Page: digits with the country code; no symbols, letters or leading zeros. We validate ' +
      'with libphonenumber-js, and complete national numbers with the `country` of the event.',
  },
  {
    field: 'fn',
    title: 'First name (`fn`)',
    rule: 'Page: lower case, no punctuation, UTF-8. We compose accents (NFKC).',
  },
  { field: 'ln', title: 'Last name (`ln`)', rule: 'As `fn`.' },
  {
    field: 'db',
    title: 'Birth date (`db`)',
    rule: 'Page: YYYYMMDD, from 1900 on. We accept other forms if they mean only one date.',
  },
  {
    field: 'ge',
    title: 'Gender (`ge`)',
    rule: 'Page: `f` or `m`. We read words for a woman or a man in many languages.',
  },
  {
    field: 'ct',
    title: 'City (`ct`)',
    rule: 'Page: lower case, no punctuation, special characters or spaces; UTF-8.',
  },
  {
    field: 'st',
    title: 'State (`st`)',
    rule:
      'Page: the two-letter code in the United States; elsewhere the name, lower case, without ' +
      'punctuation and spaces. We map the names of states and provinces of the United States and ' +
      'Canada: with the country in several languages, without it those that no other place has.',
  },
  {
    field: 'zp',
    title: 'Postal code (`zp`)',
    rule:
      'Page: lower case, no spaces, no dash; the first five digits in the United States. There ' +
      'we restore zeros that a number has lost.',
  },
  {
    field: 'country',
    title: 'Country (`country`)',
    rule:
      'Page: lower-case ISO 3166-1 alpha-2. We map alpha-3 and names in 77 languages, also as ' +
      'ISO 3166 and shops write them.',
  },
  {
    field: 'external_id',
    title: 'External ID (`external_id`)',
    rule:
      'Page: any form, the same on every channel; hashing recommended. We lower it and remove ' +
      'its white space.',
  },
  { field: 'fi', title: 'First initial (`fi`)', rule: 'Not on the page; SDK: one character.' },
  {
    field: 'f5first',
    title: 'Start of first name (`f5first`)',
    rule: 'Not on the page; SDK: five characters.',
  },
  {
    field: 'f5last',
    title: 'Start of last name (`f5last`)',
    rule: 'Not on the page; SDK: five characters.',
  },
  { field: 'doby', title: 'Birth year (`doby`)', rule: 'Not on the page; SDK: YYYY.' },
  { field: 'dobm', title: 'Birth month (`dobm`)', rule: 'Not on the page; SDK: MM.' },
  { field: 'dobd', title: 'Birth day (`dobd`)', rule: 'Not on the page; SDK: DD.' },
  {
    field: 'app_user_id',
    title: 'App user ID (`app_user_id`)',
    rule: 'Not on the page; SDK: trimmed, lower case, hashed.',
  },
]

/**
 * The comparison with the tests of Meta's own library, which are not part of this project: the
 * distinct texts of the tests of `nodejs` in facebook/capi-param-builder (b0b6f0b), each given to
 * its function and, as the only member of `user_data`, to ours.
 */
export const BUILDER_TESTS = { texts: 1_864, equal: 1_591, equalBefore: 1_378 }

/** The others by field: how many, and what ours is by Meta's page. */
export const BUILDER_DIFFERENCES: readonly [field: string, count: number, reason: string][] = [
  [
    'ph',
    62,
    'No number of any region (555-123-4567), no country code, an extension, a sentence, or no ' +
      'phone number at all. Dropped: the page requires the number with its country code.',
  ],
  [
    'ge',
    46,
    'Words in other languages, in the plural, with punctuation or a number beside them are read.',
  ],
  [
    'country',
    37,
    'Texts that are no country: the library sends their first two letters. Names in other ' +
      'languages are read.',
  ],
  [
    'ct',
    34,
    'Accents and other scripts stay (page: UTF-8), digits go. The library removes the letters.',
  ],
  [
    'st',
    23,
    'Outside the United States the whole name. The library sends its first two letters, and ' +
      'finds a state inside other words. Georgia may be the country.',
  ],
  [
    'db',
    24,
    'Dates that may be two days, before 1900, in the future, on no calendar, or in a sentence.',
  ],
  [
    'zp',
    24,
    'No spaces, no dash, complete outside the United States. The library cuts at the first dash ' +
      'and keeps other signs.',
  ],
  ['fn', 13, 'No punctuation, so emoji and long dashes go. A number is no name.'],
  ['em', 6, 'Addresses with two dots, or with a dot at the edge, exist.'],
  ['external_id', 4, 'Longer than 512 characters, or the digest of an empty value.'],
]
