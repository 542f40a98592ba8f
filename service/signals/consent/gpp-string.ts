import {
  UsCa,
  UsCo,
  UsCt,
  UsDe,
  UsFl,
  UsIa,
  UsIn,
  UsKy,
  UsMd,
  UsMn,
  UsMt,
  UsNat,
  UsNe,
  UsNh,
  UsNj,
  UsOr,
  UsRi,
  UsTn,
  UsTx,
  UsUt,
  UsVa,
} from '@iabgpp/cmpapi'
import { LRUCache } from 'lru-cache'
import type { ConsentMeaning } from './consent-statement.ts'
import { readBits } from './tc-string.ts'

/** Longer strings are not decoded. A string of all 24 sections needs about 400 characters. */
export const GPP_STRING_LENGTH_MAX = 8_192

/** What a GPP string says about advertising. */
export interface GppChoices {
  /** Of its US sections: an opt-out of sale, sharing or targeted advertising in any of them. */
  readonly usOptOut: 'refused' | 'allowed' | 'absent'
  /** The TC string of its EU section (TCF 2), not decoded. */
  readonly tcString: string | null
  /** The purposes of its Canadian section. */
  readonly canadaPurposes: CanadaPurposes | null
  /** Whether there is a section that we do not read, or one that is broken. */
  readonly hasUnreadSection: boolean
}

/** Purposes of TCF Canada, by how the person consented. */
interface CanadaPurposes {
  readonly consented: ReadonlySet<number>
  readonly implied: ReadonlySet<number>
}

const decodedStrings = new LRUCache<string, { choices: GppChoices | null }>({ max: 1_000 })

/**
 * Decodes a string of the IAB Global Privacy Platform. Null for other text. Never throws. Most
 * visitors share a few strings, so results are cached: 0.1 µs, else under 100 µs for each section.
 * Loading the library takes each process 70 ms of CPU time. It cannot wait for the first string,
 * because the sandbox loads nothing at run time (import-boundary.test.ts).
 */
export function decodeGppString(text: string): GppChoices | null {
  if (text.length > GPP_STRING_LENGTH_MAX) return null
  const cached = decodedStrings.get(text)
  if (cached !== undefined) return cached.choices
  const choices = decode(text)
  decodedStrings.set(text, { choices })
  return choices
}

const SECTIONS_MAX = 32
/** Enough for `SECTIONS_MAX` ids. */
const HEADER_LENGTH_MAX = 64
const GPP_STRING = /^D[A-Za-z0-9_-]+(?:~[A-Za-z0-9._-]+)*$/

const TCF_EU_SECTION = 2
const TCF_CANADA_SECTION = 5
const US_PRIVACY_SECTION = 6

function decode(text: string): GppChoices | null {
  // Some platforms put a bare TC string where a GPP string belongs.
  if (text.startsWith('C')) {
    return { usOptOut: 'absent', tcString: text, canadaPurposes: null, hasUnreadSection: false }
  }
  if (!GPP_STRING.test(text)) return null
  const [header = '', ...sections] = text.split('~', SECTIONS_MAX + 2)
  const ids = header.length <= HEADER_LENGTH_MAX ? readSectionIds(header) : null
  return ids === null || ids.length !== sections.length ? null : readSections(ids, sections)
}

/** Decodes one section without a header, as mobile SDKs store it: `IABGPP_7_String`. */
export function decodeGppSection(id: number, section: string): GppChoices {
  return readSections([id], [section.slice(0, GPP_STRING_LENGTH_MAX)])
}

function readSections(ids: number[], sections: string[]): GppChoices {
  const sectionOf = (id: number) => sections[ids.indexOf(id)] ?? null
  const canada = sectionOf(TCF_CANADA_SECTION)
  const canadaPurposes = canada === null ? null : readCanadaSection(canada)
  const states = ids.map((id, index) => {
    if (id === TCF_EU_SECTION) return 'absent'
    if (id === TCF_CANADA_SECTION) return canadaPurposes === null ? 'unreadable' : 'absent'
    return readUsSection(id, sections[index] as string)
  })
  return {
    usOptOut: (['refused', 'allowed'] as const).find(state => states.includes(state)) ?? 'absent',
    tcString: sectionOf(TCF_EU_SECTION),
    canadaPurposes,
    hasUnreadSection: states.includes('unreadable'),
  }
}

/** Bits before the purposes of TCF Canada, and of all that is read. */
const CANADA_PURPOSES_AT = 151
const CANADA_HEAD_BITS = 199
const PURPOSES_MAX = 24

/**
 * Reads the purposes from their fixed place. The library would expand the vendors behind them: 33
 * bits can name 65,535.
 */
function readCanadaSection(section: string): CanadaPurposes | null {
  const [core = ''] = section.split('.')
  if (!/^[A-Za-z0-9_-]+$/.test(core) || core.length * 6 < CANADA_HEAD_BITS) return null
  const cursor = { segment: core, bitAt: 0 }
  if (readBits(cursor, 6) !== 1) return null
  cursor.bitAt = CANADA_PURPOSES_AT
  const readPurposes = () => {
    const bits = Array.from({ length: PURPOSES_MAX }, () => readBits(cursor, 1))
    return new Set(bits.flatMap((bit, index) => (bit === 1 ? [index + 1] : [])))
  }
  return { consented: readPurposes(), implied: readPurposes() }
}

/**
 * The ids of the sections in the header: type 3 and version 1 (6 bits each), a count (12 bits), and
 * for each entry a bit for a range and one or two Fibonacci numbers, relative to the one before.
 * The library expands a range of any size in memory, and 40 bits can name 100 million ids. Null
 * when the header has another form or too many ids.
 */
function readSectionIds(header: string): number[] | null {
  const bits = Array.from(header, toSixBits).join('')
  if (Number.parseInt(bits.slice(0, 6), 2) !== 3 || bits.slice(6, 12) !== '000001') return null
  const ids: number[] = []
  let [at, last] = [24, 0]
  const readNumber = () => {
    const end = bits.indexOf('11', at)
    if (end < 0) return Number.NaN
    const value = parseFibonacci(bits.slice(at, end + 1))
    at = end + 2
    return value
  }
  for (let left = Number.parseInt(bits.slice(12, 24), 2); left > 0; left -= 1) {
    const isRange = bits.charAt(at) === '1'
    at += 1
    const first = last + readNumber()
    last = isRange ? first + readNumber() : first
    if (!(last - first + ids.length < SECTIONS_MAX)) return null
    for (let id = first; id <= last; id += 1) ids.push(id)
  }
  return ids
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

function toSixBits(character: string): string {
  return ALPHABET.indexOf(character).toString(2).padStart(6, '0')
}

/** The sum of the Fibonacci numbers 1, 2, 3, 5, ... whose bit is set. */
function parseFibonacci(bits: string): number {
  let [value, current, next] = [0, 1, 2]
  for (const bit of bits) {
    if (bit === '1') value += current
    ;[current, next] = [next, current + next]
  }
  return value
}

type SectionState = GppChoices['usOptOut'] | 'unreadable'

interface SectionClass {
  new (encoded: string): { toObj(): Record<string, unknown> }
}

/** The US sections by id. */
const US_SECTIONS: ReadonlyMap<number, SectionClass> = new Map<number, SectionClass>([
  [7, UsNat],
  [8, UsCa],
  [9, UsVa],
  [10, UsCo],
  [11, UsUt],
  [12, UsCt],
  [13, UsFl],
  [14, UsMt],
  [15, UsOr],
  [16, UsTx],
  [17, UsDe],
  [18, UsIa],
  [19, UsNe],
  [20, UsNh],
  [21, UsNj],
  [22, UsTn],
  [23, UsMn],
  [24, UsMd],
  [25, UsIn],
  [26, UsKy],
  [27, UsRi],
])

const OPT_OUT_FIELDS = ['SaleOptOut', 'SharingOptOut', 'TargetedAdvertisingOptOut']

/** 1 is an opt-out, 2 is none, and 0 means that the section does not apply. 3 does not exist. */
function readUsSection(id: number, section: string): SectionState {
  if (id === US_PRIVACY_SECTION) {
    const restriction = parseUsPrivacyString(section)
    if (restriction === 'refused') return 'refused'
    return restriction === 'permitted' ? 'allowed' : 'unreadable'
  }
  const Section = US_SECTIONS.get(id)
  if (Section === undefined) return 'unreadable'
  try {
    const decoded = new Section(section).toObj()
    if (decoded.Gpc === true) return 'refused'
    const optOuts = OPT_OUT_FIELDS.map(field => decoded[field]).filter(each => each !== undefined)
    if (optOuts.includes(1)) return 'refused'
    return optOuts.length > 0 && optOuts.every(each => each === 0 || each === 2)
      ? 'allowed'
      : 'unreadable'
  } catch {
    // The library throws DecodingError for a section that is too short.
    return 'unreadable'
  }
}

export const US_PRIVACY_STRING = /^1[YN-]{3}$/i

/**
 * Parses a US Privacy string of the IAB, version 1: notice given, opted out of sale, LSPA. `Y` in
 * the third place is an opt-out, and `-` means that the law does not apply.
 */
export function parseUsPrivacyString(text: unknown): ConsentMeaning {
  if (text === null || text === undefined || text === '') return 'unset'
  if (typeof text !== 'string' || !US_PRIVACY_STRING.test(text)) return 'unclear'
  return text.charAt(2).toUpperCase() === 'Y' ? 'refused' : 'permitted'
}
