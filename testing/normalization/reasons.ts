import type { NormalizationCase } from './cases.ts'
import { SECTIONS } from './sections.ts'

interface Reason {
  fields: readonly string[]
  input: RegExp
  /** Only for rows with a country. */
  hasCountry?: true
  reason: string
}

const ANY = SECTIONS.map(({ field }) => field)
const NAMES = ['fn', 'ln', 'fi', 'f5first', 'f5last']
const UNFILLED = /^(undefined|\(not set\)|\{\{.*\}\}|N\/A|0{64})$/

/** The first match explains why our value is right where an implementation differs. */
const REASONS: readonly Reason[] = [
  {
    fields: ANY,
    input: UNFILLED,
    reason: 'A variable that was never filled would match different people with each other.',
  },
  {
    fields: ANY,
    input: /\u200b|\u00ad/,
    reason: 'An invisible character comes with copied text, and is no part of the value.',
  },
  {
    fields: ANY,
    input: /^[0-9a-f]{64}$/,
    reason: 'A digest stays as it is. Hashed twice, it matches no one.',
  },
  {
    fields: ['em'],
    input: /^[0-9a-f]{32}$/,
    reason: 'An MD5 matches no one: the page asks for SHA-256.',
  },
  { fields: ['em'], input: /[ａ-ｚ]/, reason: 'Full-width letters are the same address.' },
  {
    fields: ['em'],
    input: /\.\./,
    reason: 'Carriers have issued addresses with two dots. The page asks for trim and lower case.',
  },
  { fields: ['em'], input: /josé/, reason: 'Addresses may have letters of any script (RFC 6531).' },
  { fields: ['em'], input: /^"/, reason: 'A quoted local part is a valid address (RFC 5321).' },
  {
    fields: ['em'],
    input: /./,
    reason: 'Not an address, so its digest matches no one. The event is sent without it.',
  },
  { fields: ['ph'], input: /[０-９]/, reason: 'Full-width digits are digits.' },
  { fields: ['ph'], input: /ext/, reason: 'An extension is not part of the phone number.' },
  { fields: ['ph'], input: /\(0\)/, reason: 'The page removes leading zeros; +49 030 is invalid.' },
  {
    fields: ['ph'],
    input: /^[(0]/,
    hasCountry: true,
    reason: 'The country provides the code that the page requires.',
  },
  {
    fields: ['ph'],
    input: /^(\+?00|\+52)/,
    reason: 'Page: no symbols and no leading zeros; every other digit stays.',
  },
  {
    fields: ['ph'],
    input: /^(\+|tel:|1-650-555-1212$|16505551212$)/,
    reason: 'Page: only digits, with the country code.',
  },
  {
    fields: ['ph'],
    input: /^(4792813113|3227352263)$/,
    reason:
      'Without + and country it is a number of 35 or 13 regions; one of them would be a guess.',
  },
  { fields: ['ph'], input: /555[) -]+123/, reason: 'No region has this number: it is an example.' },
  { fields: ['ph'], input: /_/, reason: 'Page: no symbols.' },
  { fields: ['ph'], input: /^\d{14,}$/, reason: 'Not a valid number of any country (E.164).' },
  {
    fields: ['ph'],
    input: /./,
    reason: 'The page requires the country code. Without it the number is another one, or invalid.',
  },
  {
    fields: NAMES,
    input: /^[\d７]+$/,
    reason: 'A name contains a letter. A number is an error of the caller.',
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
    reason: "The SDK's rule, by characters: half a surrogate pair is not valid text.",
  },
  { fields: ['f5last'], input: /./, reason: 'The start of `ln`, without punctuation.' },
  {
    fields: NAMES,
    input: /./,
    reason: 'Page: no punctuation, which includes spaces and typographic apostrophes.',
  },
  {
    fields: ['db'],
    input: /^1990-15-06$/,
    reason: 'There is no 15th month, so the value means only one date.',
  },
  { fields: ['db'], input: /年/, reason: 'The parts are named: year, month and day.' },
  { fields: ['db'], input: /T00/, reason: 'The date of a timestamp is a birth date.' },
  { fields: ['db'], input: /^20990101$/, reason: 'No one is born in the future.' },
  {
    fields: ['db'],
    input: /^02\/03/,
    reason: 'It may be 2 March or 3 February, and a guess could be wrong.',
  },
  {
    fields: ['db'],
    input: /^(970216|1997-13-40|1997-02-31)$/,
    reason: 'Not a calendar date with a four-digit year.',
  },
  { fields: ['db'], input: /./, reason: 'Page: YYYYMMDD. The value means only one date.' },
  { fields: ['ge'], input: /^mal3e$/, reason: 'A digit inside a word makes it another word.' },
  { fields: ['ge'], input: /^male123$/, reason: 'A number beside the word is a code of the form.' },
  { fields: ['ge'], input: /^MALE\.$/, reason: 'Punctuation does not change the word.' },
  {
    fields: ['ge'],
    input: /^(x|unknown|non-binary|M\/F|\d|)$/,
    reason: 'Page: only f and m.',
  },
  { fields: ['ge'], input: /./, reason: 'Page: f or m, whatever word a form has for it.' },
  {
    fields: ['ct', 'st'],
    input: /^\d+$/,
    reason:
      'A place contains a letter. The digest of an empty value would match everyone without one.',
  },
  {
    fields: ['ct'],
    input: /[^\x20-\x7e]/,
    reason: 'Page: UTF-8, so the letter stays. Without it, it is another city.',
  },
  { fields: ['ct'], input: /./, reason: 'Page: no punctuation, special characters or spaces.' },
  {
    fields: ['st'],
    input: /Washington/,
    reason: 'The District of Columbia is not the state of Washington.',
  },
  { fields: ['st'], input: /^US-CA$/, reason: 'ISO 3166-2: the country and the state.' },
  {
    fields: ['st'],
    input: /^Georgia$/,
    reason: 'A state with its country; without it, it may be the country Georgia.',
  },
  { fields: ['st'], input: /^Carolina$/, reason: 'Two states have the name; ca is California.' },
  { fields: ['st'], input: /^Tex\.$/, reason: 'The abbreviation of Texas; te is no state.' },
  {
    fields: ['st'],
    input: /Palau|Armed Forces/,
    reason: 'Its code is that of the postal service of the United States.',
  },
  {
    fields: ['st'],
    input: /Québec/,
    reason: 'Its French name is a province with the country Canada; without it, the name.',
  },
  {
    fields: ['st'],
    input: /California|New York|Ontario|Texas/,
    reason: "The page's own example is California as ca. No other place has the name.",
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
    reason: 'Page: five digits in the United States. No other country has this nine-digit code.',
  },
  {
    fields: ['zp'],
    input: /^12345-6789$/,
    reason: 'Saudi postal codes have nine digits; only United States codes are shortened.',
  },
  {
    fields: ['zp'],
    input: /^2134$/,
    hasCountry: true,
    reason: 'A ZIP code has five digits. A number has lost the zero of 02134.',
  },
  { fields: ['zp'], input: /^94035$/, reason: 'A JSON number that is a postal code.' },
  { fields: ['zp'], input: /^.$/, reason: 'One character is not a postal code.' },
  {
    fields: ['zp'],
    input: /./,
    reason: 'Page: no spaces, no dash; complete outside the United States.',
  },
  {
    fields: ['country'],
    input: /^(UK|EL|U\.K\.)$/,
    reason: 'Common codes of gb and gr, which are unambiguous.',
  },
  {
    fields: ['country'],
    input: /^XK$/,
    reason: 'Kosovo has no ISO code; this is the code in use.',
  },
  {
    fields: ['country'],
    input: /^(XX|de-DE)$/,
    reason: 'Not a country. A locale describes a program, not a person.',
  },
  { fields: ['country'], input: /^Kongo$/, reason: 'Two countries have this name.' },
  { fields: ['country'], input: /./, reason: 'Page: alpha-2. The name or code is unambiguous.' },
  {
    fields: ['external_id'],
    input: /^user 42$/,
    reason: "Without its white space, as Meta's Parameter Builder; hashed, as below.",
  },
  {
    fields: ['external_id'],
    input: /./,
    reason: 'Hashed, so that the raw ID is not stored, and deletion by digest finds it.',
  },
  {
    fields: ['dobm', 'dobd', 'doby', 'app_user_id'],
    input: /./,
    reason: 'Some implementations do not have the key.',
  },
]

/** The reason for a row, or null. */
export function findReason({ field, input, country }: NormalizationCase): string | null {
  const found = REASONS.find(
    one =>
      one.fields.includes(field) &&
      one.input.test(String(input)) &&
      (one.hasCountry === undefined || country !== undefined),
  )
  return found?.reason ?? null
}
