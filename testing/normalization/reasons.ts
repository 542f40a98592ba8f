import type { NormalizationCase } from './cases.ts'

interface Section {
  field: string
  title: string
  /** What Meta's page says, and what we add to it. */
  rule: string
}

/** The fields in the order of the page. */
export const SECTIONS: readonly Section[] = [
  {
    field: 'em',
    title: 'Email (`em`)',
    rule: 'Page: trim, lower case. We also require one bare address, quoted or in any script.',
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
    rule: 'Page: YYYYMMDD, from 1900 on. We read other forms when only one date fits.',
  },
  { field: 'ge', title: 'Gender (`ge`)', rule: 'Page: `f` or `m`. We read female and male too.' },
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
      'punctuation and spaces. We map names of states and Canadian provinces beside their country.',
  },
  {
    field: 'zp',
    title: 'Postal code (`zp`)',
    rule: 'Page: lower case, no spaces, no dash; the first five digits in the United States.',
  },
  {
    field: 'country',
    title: 'Country (`country`)',
    rule: 'Page: lower-case ISO 3166-1 alpha-2. We map alpha-3 and names in 77 languages.',
  },
  {
    field: 'external_id',
    title: 'External ID (`external_id`)',
    rule: 'Page: any form, the same on every channel; hashing recommended. We trim and lower it.',
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

interface Reason {
  fields: readonly string[]
  input: RegExp
  /** For rows with a country alone. */
  hasCountry?: true
  reason: string
}

const ANY = SECTIONS.map(({ field }) => field)
const NAMES = ['fn', 'ln', 'fi', 'f5first', 'f5last']

/** The first that fits explains why a row is right where an implementation disagrees. */
const REASONS: readonly Reason[] = [
  {
    fields: ANY,
    input: /^[0-9a-f]{64}$/,
    reason: 'A digest is passed on. Hashed twice, it matches no one.',
  },
  {
    fields: ['em'],
    input: /^[0-9a-f]{32}$/,
    reason: 'An MD5 matches no one: the page asks for SHA-256.',
  },
  { fields: ['em'], input: /[ａ-ｚ]/, reason: 'Full-width letters are the same address.' },
  { fields: ['em'], input: /josé/, reason: 'Addresses may have letters of any script (RFC 6531).' },
  { fields: ['em'], input: /^"/, reason: 'A quoted local part is a valid address (RFC 5321).' },
  {
    fields: ['em'],
    input: /./,
    reason: 'No address, so its digest matches no one. The event goes on without it.',
  },
  { fields: ['ph'], input: /[０-９]/, reason: 'Full-width digits are digits.' },
  {
    fields: ['ph'],
    input: /ext/,
    reason: 'An extension belongs to an office, and is no part of a number.',
  },
  {
    fields: ['ph'],
    input: /\(0\)/,
    reason: 'The page drops leading zeros; +49 030 exists nowhere.',
  },
  {
    fields: ['ph'],
    input: /^[(0]/,
    hasCountry: true,
    reason: 'The country beside it gives the number the code that the page requires.',
  },
  {
    fields: ['ph'],
    input: /^(\+?00|\+52)/,
    reason: 'Page: no symbols and no leading zeros; every other digit stays.',
  },
  {
    fields: ['ph'],
    input: /^(\+|tel:|1-650-555-1212$|16505551212$)/,
    reason: 'Page: digits alone, with the country code.',
  },
  {
    fields: ['ph'],
    input: /^\d{14,}$/,
    reason: 'Not a number of any country as it stands (E.164).',
  },
  {
    fields: ['ph'],
    input: /./,
    reason:
      'The page requires the country code. Without it the digest is of another number, or of none.',
  },
  {
    fields: NAMES,
    input: /^[\d７]+$/,
    reason: 'A name has a letter. A number here is a mistake of the caller.',
  },
  { fields: NAMES, input: /[Ａ-Ｚ]/, reason: 'Full-width letters are the same name.' },
  {
    fields: ['fn', 'ln'],
    input: /\u0301/,
    reason: 'A composed and a decomposed accent are the same name.',
  },
  {
    fields: ['fi', 'f5first'],
    input: /./,
    reason: "The SDK's rule, by characters: half a surrogate pair is no text.",
  },
  {
    fields: ['f5last'],
    input: /./,
    reason: 'It begins as `ln` does, and the page takes no punctuation there.',
  },
  {
    fields: NAMES,
    input: /./,
    reason: 'Page: no punctuation; spaces and typographic apostrophes are some.',
  },
  { fields: ['db'], input: /T00/, reason: 'The date of a timestamp is a birth date.' },
  { fields: ['db'], input: /^20990101$/, reason: 'No one is born in the future.' },
  {
    fields: ['db'],
    input: /^02\/03/,
    reason: 'It may be 2 March or 3 February. A guess may be wrong.',
  },
  {
    fields: ['db'],
    input: /^(970216|1997-13-40|1997-02-31)$/,
    reason: 'No date of the calendar with a year of four digits.',
  },
  { fields: ['db'], input: /./, reason: 'Page: YYYYMMDD. Only one date fits.' },
  { fields: ['ge'], input: /^MALE\.$/, reason: 'Punctuation does not change the word.' },
  {
    fields: ['ge'],
    input: /^woman$/,
    reason: 'The page knows f and m. We read the two words for them, and guess at no others.',
  },
  { fields: ['ge'], input: /^(fe)?male\s*$/i, reason: 'Page: one letter, for either word.' },
  { fields: ['ge'], input: /./, reason: 'Neither f nor m, which is all that the page knows.' },
  {
    fields: ['ct', 'st'],
    input: /^\d+$/,
    reason: 'A place has a letter; the digest of nothing would match everyone who sends none.',
  },
  {
    fields: ['ct'],
    input: /[^\x20-\x7e]/,
    reason: 'Page: UTF-8, so the letter stays. Without it the city is another.',
  },
  { fields: ['ct'], input: /./, reason: 'Page: no punctuation, special characters or spaces.' },
  {
    fields: ['st'],
    input: /Washington/,
    reason: 'The District of Columbia is no part of the state of Washington.',
  },
  { fields: ['st'], input: /^US-CA$/, reason: 'ISO 3166-2 names the state with its country.' },
  {
    fields: ['st'],
    input: /Québec|Ontario/,
    reason: 'The code of the province beside its country; the name without one.',
  },
  {
    fields: ['st'],
    input: /California|New York/,
    reason: 'The code when the country is known. Without it, the page asks for the name.',
  },
  { fields: ['st'], input: /^(ca |N\.Y\.)$/, reason: 'Page: no punctuation, no spaces.' },
  { fields: ['st'], input: /TX 75001/, reason: 'The digits are a postal code.' },
  {
    fields: ['st'],
    input: /./,
    reason:
      'Page, outside the United States: the whole name, no punctuation, no spaces, every letter.',
  },
  { fields: ['zp'], input: /[０-９]/, reason: 'Full-width digits are digits.' },
  {
    fields: ['zp'],
    input: /^94035./,
    reason: 'Page: five digits in the United States, and only that country has nine.',
  },
  {
    fields: ['zp'],
    input: /^12345-6789$/,
    reason: 'Saudi postal codes have nine digits; only United States codes are cut.',
  },
  { fields: ['zp'], input: /^94035$/, reason: 'JSON has numbers; this one is a postal code.' },
  { fields: ['zp'], input: /^.$/, reason: 'One character is no postal code.' },
  {
    fields: ['zp'],
    input: /./,
    reason: 'Page: no spaces, no dash; nothing is cut outside the United States.',
  },
  {
    fields: ['country'],
    input: /^(UK|EL)$/,
    reason: 'Everyday and EU codes of gb and gr, which have one meaning.',
  },
  {
    fields: ['country'],
    input: /^XK$/,
    reason: 'Kosovo has no ISO code, and this is the one in use.',
  },
  {
    fields: ['country'],
    input: /^(XX|de-DE)$/,
    reason: 'No country. A locale names a language, and its region is that of the program.',
  },
  { fields: ['country'], input: /^Kongo$/, reason: 'Two countries have this name.' },
  { fields: ['country'], input: /./, reason: 'Page: alpha-2. The name or code has one meaning.' },
  {
    fields: ['external_id'],
    input: /^undefined$/,
    reason: 'A variable that was never filled would join strangers.',
  },
  {
    fields: ['external_id'],
    input: /./,
    reason: 'Hashed, so that the raw ID is not stored and a deletion by digest finds it.',
  },
  {
    fields: ['dobm', 'dobd', 'doby', 'app_user_id'],
    input: /./,
    reason: 'Not every implementation has the key.',
  },
]

/** Null when no reason is written down for the row. */
export function findReason({ field, input, country }: NormalizationCase): string | null {
  const found = REASONS.find(
    one =>
      one.fields.includes(field) &&
      one.input.test(String(input)) &&
      (one.hasCountry === undefined || country !== undefined),
  )
  return found?.reason ?? null
}
