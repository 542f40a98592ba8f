import { LRUCache } from 'lru-cache'
import table from './consent-forms.json' with { type: 'json' }
import { type CodedForm, type NameMeaning, NO_MEANING, readName } from './consent-names.ts'
import type { ConsentSubject } from './consent-statement.ts'

/** What a name or a code of a form means. */
export type FormMeaning =
  | Exclude<ConsentSubject, `tcf_${number}`>
  | `tcf_${1 | 2 | 3 | 4 | 7}`
  | CodedForm
  /** A "yes" refuses: everything, the sale of data, advertising, tracking. */
  | 'opt_out'
  | 'sale_opt_out'
  | 'advertising_opt_out'
  | 'tracking_opt_out'
  /** Consent to one advertising platform. */
  | 'meta'
  /** It says nothing about consent. */
  | 'label'

/** The forms of one consent platform or standard: what the program reads, and examples of it. */
export interface ConsentPlatformForms {
  platform: string
  /** Where the platform documents its forms. Empty for forms of our own. */
  source: string
  /** One or two sentences for the guide. */
  about: string
  /** Names that the program reads, as `normalizeName` writes them, by their meaning. */
  names?: NamesByForm
  /** Codes inside a member of this name, by their meaning. */
  codes?: Record<string, NamesByForm>
  rows: readonly FormRow[]
}

type NamesByForm = Partial<Record<FormMeaning, string>>

/** One form. The decision is `granted_by_consent`, `422 consent.marketing`, or `withheld why`. */
export interface FormRow {
  says: string
  /** Members of the event. */
  members: object
  decision: string
}

/** The table of forms. The program reads its names, the tests its rows, and the guide prints it. */
export const CONSENT_FORMS: readonly ConsentPlatformForms[] = table

/** `ad_user_data`, `adUserData` and `Ad User Data` are one name. */
export function normalizeName(name: string): string {
  return name.replace(/[-_\s.$:/]/g, '').toLowerCase()
}

const GRANTING: ReadonlySet<string> = new Set([
  ...['advertising', 'ad_storage', 'ad_user_data', 'ad_personalization', 'meta', 'everything'],
])

const OPT_OUT_SUBJECTS: Readonly<Record<string, ConsentSubject>> = {
  opt_out: 'everything',
  sale_opt_out: 'sale',
  advertising_opt_out: 'advertising',
  tracking_opt_out: 'tracking',
}

const CODED_FORMS: ReadonlySet<string> = new Set<CodedForm>([
  ...(['us_privacy', 'gpp', 'gcs', 'gcd', 'tc_string', 'tcf_purposes'] as const),
  ...(['additional_consent', 'gdpr_applies', 'att', 'gpp_opt_out', 'provenance'] as const),
  ...(['trustarc_level', 'purpose_status'] as const),
])

/** Keeps what the words of the name say about its shape: whether it is a list, or of vendors. */
function toMeaning(meaning: FormMeaning, name: string): NameMeaning {
  const { list, hasVendors, isAboutAll } = readName(name)
  const base = { ...NO_MEANING, list, hasVendors, isAboutAll, isForm: true, isPlain: true }
  if (meaning === 'label') return { ...base, isLabel: true }
  if (meaning === 'att') return { ...base, coded: meaning, subject: 'advertising', canGrant: true }
  if (meaning === 'gpp_opt_out') {
    const optOut = { isNegative: true, isOptOut: true, list: 'rejected' } as const
    return { ...base, ...optOut, coded: meaning, subject: 'sale' }
  }
  // Others may have a member of this name; it is read by its words then.
  if (meaning === 'trustarc_level' || meaning === 'purpose_status') {
    return { ...readName(name), coded: meaning }
  }
  if (CODED_FORMS.has(meaning)) return { ...base, coded: meaning as CodedForm }
  if (meaning === 'meta') return { ...base, subject: 'advertising', vendor: 'meta', canGrant: true }
  const optOut = OPT_OUT_SUBJECTS[meaning]
  if (optOut !== undefined) {
    const isSwitch = optOut === 'everything'
    return {
      ...base,
      subject: optOut,
      isNegative: true,
      isOptOut: true,
      isSwitch,
      list: 'rejected',
    }
  }
  const canGrant = GRANTING.has(meaning) || meaning.startsWith('tcf_')
  const isSwitch = meaning === 'everything'
  return { ...base, subject: meaning as ConsentSubject, canGrant, isSwitch }
}

function indexNames(names: NamesByForm): Map<string, NameMeaning> {
  const index = new Map<string, NameMeaning>()
  for (const [meaning, listed] of Object.entries(names) as [FormMeaning, string][]) {
    for (const name of listed.split(/\s+/)) index.set(name, toMeaning(meaning, name))
  }
  return index
}

const FORM_BY_NAME = buildFormIndex()

function buildFormIndex(): ReadonlyMap<string, NameMeaning> {
  const index = new Map<string, NameMeaning>()
  for (const { names = {}, codes = {} } of CONSENT_FORMS) {
    for (const [name, meaning] of indexNames(names)) index.set(name, meaning)
    for (const [owner, coded] of Object.entries(codes)) {
      const known = index.get(owner) ?? { ...NO_MEANING, isForm: true, isPlain: true }
      index.set(owner, { ...known, list: known.list ?? 'accepted', codes: indexNames(coded) })
    }
  }
  return index
}

/** What a category of a tracker's own consent platform can mean. */
export const CATEGORY_PURPOSES = ['advertising', 'social_media', 'sale', 'other'] as const

export type CategoryPurpose = (typeof CATEGORY_PURPOSES)[number]

/** Meanings of a tracker's own categories, by their names. Null without any. */
export function indexCategories(
  categories: Readonly<Record<string, string>>,
): ReadonlyMap<string, NameMeaning> | null {
  const index = new Map<string, NameMeaning>()
  for (const [name, purpose] of Object.entries(categories)) {
    const known = CATEGORY_PURPOSES.find(each => each === purpose)
    if (known) index.set(normalizeName(name), toMeaning(known, name))
  }
  return index.size > 0 ? index : null
}

/**
 * Most callers send the same few names. Only names of letters are cached, because others may be
 * identifiers; numbers in a name say nothing, so `vendor-137` is cached as `vendor-#`.
 */
const meanings = new LRUCache<string, NameMeaning>({ max: 2_000 })
const CACHEABLE_NAME = /^[A-Za-z#_][A-Za-z_. #-]{0,63}$/

/**
 * What a name means: by the table of forms, or else by its words. 0.1 µs for a cached name and 2 to
 * 5 µs for others.
 */
export function findMeaning(name: string): NameMeaning {
  const cached = meanings.get(name)
  if (cached !== undefined) return cached
  if (!HAS_DIGIT.test(name)) return remember(name)
  const form = FORM_BY_NAME.get(normalizeName(name))
  if (form !== undefined) return form
  const code = LAST_CODE.exec(name)?.[1]
  const coded = code === undefined ? undefined : FORM_BY_NAME.get(code.toLowerCase())
  if (coded !== undefined) return { ...coded, isPlain: false }
  if (!HAS_LETTER.test(name)) return NO_MEANING
  const purpose = findPurposeNumber(name)
  if (purpose !== null) return purpose
  const key = name.replace(/\d+/g, '#')
  return meanings.get(key) ?? remember(key)
}

const HAS_DIGIT = /\d/
/** `OTConsentStatus_C0004` is about the group `C0004`. */
const LAST_CODE = /[_.:\s-]([A-Za-z]{1,3}\d{2,4})$/
/** `tcf_purpose_4`, `purpose4Consent` and `iab_purpose_3_denied`. */
const PURPOSE_NUMBER = new RegExp(
  '^((?:(?:tcf|iab|iabtcf|gdpr|eu|v2|consent|user)[-_. ]?)*)purpose[-_. ]?(\\d{1,2})' +
    '(?:[-_. ]?(?:is)?(?:(consent(?:s|ed)?|granted|allowed|accepted|enabled|status)|' +
    '(denied|refused|rejected|declined|disabled|disallowed|opt_?out)))?$',
  'i',
)

/** A single purpose by its number. Without "TCF" in the name, it may be a number of your own. */
function findPurposeNumber(name: string): NameMeaning | null {
  const [, prefix = '', digits, , refused] = PURPOSE_NUMBER.exec(name) ?? []
  if (digits === undefined) return null
  return {
    ...NO_MEANING,
    subject: `tcf_${Number(digits)}`,
    isForm: /tcf|iab/i.test(prefix),
    canGrant: refused === undefined,
    isNegative: refused !== undefined,
    isPlain: true,
  }
}

const HAS_LETTER = /[^\d\s_.:-]/

function remember(name: string): NameMeaning {
  const meaning = FORM_BY_NAME.get(normalizeName(name)) ?? findCodedEnd(name) ?? readName(name)
  if (CACHEABLE_NAME.test(name)) meanings.set(name, meaning)
  return meaning
}

/** `TRUSTE.eu.cookie_notice_preferences` ends with a name whose codes we know. */
function findCodedEnd(name: string): NameMeaning | undefined {
  const ends = [...name.matchAll(/[._]/g)].slice(-END_PARTS_MAX).map(({ index }) => index + 1)
  for (const start of ends) {
    const end = normalizeName(name.slice(start))
    const form = FORM_BY_NAME.get(end)
    const isLong = name[start - 1] === '.' || end.length > SHORT_END_LENGTH
    if (isLong && (form?.codes || form?.coded)) return { ...form, isPlain: false }
  }
  return undefined
}

const END_PARTS_MAX = 4
/** `user_groups` does not end with a form; `my_notice_preferences` does. */
const SHORT_END_LENGTH = 12

/** Groups of OneTrust's template with the necessary ones: those are active under any name. */
export function isActiveGroups(value: unknown[]): boolean {
  const isGroup = (item: unknown) =>
    typeof item === 'string' && /^(?:C00\d\d|S?SPD_BG)$/i.test(item)
  return value.every(isGroup) && value.some(item => /^C0001$/i.test(`${item}`))
}
