import { TCString } from '@iabtcf/core'
import { LRUCache } from 'lru-cache'

/** Longer strings are not decoded. Strings of 1,000 vendors need about 400 characters. */
export const TC_STRING_LENGTH_MAX = 8_192

/** At most 8 MiB of text. Most visitors of a day share a few strings (accept all, reject all). */
const CACHED_STRINGS_MAX = 1_000

/** What the decision needs from a TC string. `created` and `lastUpdated` have day precision. */
export interface TcChoices {
  readonly policyVersion: number
  readonly created: Date
  readonly lastUpdated: Date
  readonly purposesConsented: ReadonlySet<number>
  readonly purposeOneTreatment: boolean
  readonly disclosesVendors: boolean
  /** Whether the vendor with this ID on the Global Vendor List is consented. */
  isVendorConsented(id: number): boolean
}

/** Decoding is deterministic, so the cache only saves time. */
const decodedStrings = new LRUCache<string, { choices: TcChoices | null }>({
  max: CACHED_STRINGS_MAX,
})

/**
 * Decodes a TC string of version 2 (IAB TCF, "Consent string and vendor list formats v2"). Null for
 * other text. Never throws. Over 100,000 calls on strings of 1,000 vendors, a call takes 0.1 µs
 * for 500 different strings (cached) and 11 µs for 20,000 (not cached).
 */
export function decodeTcString(text: string): TcChoices | null {
  if (text.length > TC_STRING_LENGTH_MAX) return null
  const cached = decodedStrings.get(text)
  if (cached !== undefined) return cached.choices
  const choices = decode(text)
  decodedStrings.set(text, { choices })
  return choices
}

function decode(text: string): TcChoices | null {
  const layout = validateTcString(text)
  if (layout === null) return null
  try {
    const model = TCString.decode(stripVendorSections(text))
    return {
      policyVersion: Number(model.policyVersion),
      created: model.created,
      lastUpdated: model.lastUpdated,
      purposesConsented: selectConsented(model.purposeConsents),
      purposeOneTreatment: model.purposeOneTreatment,
      disclosesVendors: layout.disclosesVendors,
      isVendorConsented: id => readVendorConsent(text, id),
    }
  } catch {
    // The library throws DecodingError or TypeError for text that is not a TC string.
    return null
  }
}

/** The core segment has a bit for each of 24 purposes. */
const PURPOSES_MAX = 24

function selectConsented(consents: { has(id: number): boolean }): Set<number> {
  const purposes = Array.from({ length: PURPOSES_MAX }, (_, index) => index + 1)
  return new Set(purposes.filter(purpose => consents.has(purpose)))
}

const CORE_START = /^C[A-Za-z0-9_-]{35}/
const POLICY_VERSION_MAX = 20
/** The framework is from 2018. */
const CREATED_FROM = Date.parse('2018-01-01T00:00:00Z')
const CREATED_UNTIL = Date.parse('2100-01-01T00:00:00Z')

/** Whether any text is a TC string: random text may have its form, but not its time. */
export function isPlausibleTcString(text: string): boolean {
  if (!CORE_START.test(text)) return false
  const choices = decodeTcString(text)
  if (choices === null || choices.policyVersion > POLICY_VERSION_MAX) return false
  const created = choices.created.getTime()
  return created >= CREATED_FROM && created < CREATED_UNTIL
}

/** Bits before the vendor sections of a version 2 core segment: 35 characters and 3 bits. */
const CORE_HEAD_CHARACTERS = 35
const CORE_HEAD_BITS = 213

/** Core, disclosed vendors, allowed vendors and publisher purposes. */
const SEGMENTS_MAX = 4

/** The version, first in the core segment: six bits with the value 2. */
const VERSION_CHARACTER = 'C'
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const BASE64URL_SEGMENTS = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/

interface TcStringLayout {
  /** Whether there is a DisclosedVendors segment with at least one vendor. */
  disclosesVendors: boolean
}

/**
 * Checks the lengths of the vendor sections without expanding them. Null if they do not fit. A
 * vendor range of 33 bits names up to 65,535 vendors, and @iabtcf/core stores each one: a string of
 * 220 characters, with 20 publisher restrictions on vendors 1 to 20,000, took 8.7 s to decode.
 * The decision needs no vendor bits, so the library decodes only `stripVendorSections`. Field
 * lengths: IAB TCF, "Consent string and vendor list formats v2".
 */
function validateTcString(text: string): TcStringLayout | null {
  if (!text.startsWith(VERSION_CHARACTER) || !BASE64URL_SEGMENTS.test(text)) return null
  const [core = '', ...others] = text.split('.', SEGMENTS_MAX + 1)
  if (others.length >= SEGMENTS_MAX || !isCompleteCore(core)) return null
  let disclosesVendors = false
  for (const segment of others) {
    const cursor = { segment, bitAt: 0 }
    const type = readBits(cursor, 3)
    if (type === 1) disclosesVendors = skipVendors(cursor) > 0
    else if (type === 2) skipVendors(cursor)
    else if (type === 3) skipPublisherPurposes(cursor)
    else return null
    if (!isWithinSegment(cursor)) return null
  }
  return { disclosesVendors }
}

/**
 * The core segment with empty vendor sections: the same choices in 44 characters, which decode in
 * 7 µs for any string. Requires a string accepted by `validateTcString`.
 */
function stripVendorSections(text: string): string {
  const lastBits = readBits({ segment: text, bitAt: CORE_HEAD_CHARACTERS * 6 }, 3)
  const head = text.slice(0, CORE_HEAD_CHARACTERS) + ALPHABET.charAt(lastBits << 3)
  // Padded with zeros: two empty vendor fields (17 bits each) and no restrictions (12 bits).
  return head.padEnd(44, 'A')
}

/** A place in a base64url segment. */
export interface BitCursor {
  segment: string
  bitAt: number
}

function isCompleteCore(segment: string): boolean {
  const cursor = { segment, bitAt: CORE_HEAD_BITS }
  skipVendors(cursor)
  skipVendors(cursor)
  return skipRestrictions(cursor) && isWithinSegment(cursor)
}

/** Returns how many entries or IDs the section declares. */
function skipVendors(cursor: BitCursor): number {
  const vendorIdMax = readBits(cursor, 16)
  const isRanges = readBits(cursor, 1) === 1
  if (!isRanges) {
    cursor.bitAt += vendorIdMax
    return vendorIdMax
  }
  const entries = readBits(cursor, 12)
  skipEntries(cursor, entries)
  return entries
}

/** Reads one vendor of the first vendor section: at most 4,095 steps, without a list of vendors. */
function readVendorConsent(text: string, id: number): boolean {
  const cursor = { segment: text, bitAt: CORE_HEAD_BITS }
  const vendorIdMax = readBits(cursor, 16)
  const isRanges = readBits(cursor, 1) === 1
  if (id < 1 || id > vendorIdMax) return false
  if (!isRanges) {
    cursor.bitAt += id - 1
    return readBits(cursor, 1) === 1
  }
  for (let entries = readBits(cursor, 12); entries > 0; entries -= 1) {
    const isRange = readBits(cursor, 1) === 1
    const first = readBits(cursor, 16)
    const last = isRange ? readBits(cursor, 16) : first
    if (id >= first && id <= last) return true
  }
  return false
}

/** False for a descending range, which the library rejects in restrictions. */
function skipRestrictions(cursor: BitCursor): boolean {
  const restrictions = readBits(cursor, 12)
  let isAscending = true
  for (let index = 0; index < restrictions && isAscending; index += 1) {
    cursor.bitAt += 8 // The purpose and the kind of restriction.
    isAscending = skipEntries(cursor, readBits(cursor, 12))
  }
  return isAscending
}

/** At most 4,095 steps, because the count has 12 bits. False for a descending range. */
function skipEntries(cursor: BitCursor, entries: number): boolean {
  let isAscending = true
  for (let index = 0; index < entries; index += 1) {
    const isRange = readBits(cursor, 1) === 1
    const first = readBits(cursor, 16)
    if (isRange && readBits(cursor, 16) < first) isAscending = false
  }
  return isAscending
}

function skipPublisherPurposes(cursor: BitCursor): void {
  cursor.bitAt += 48 // Consents and legitimate interests for the 24 standard purposes.
  const customPurposes = readBits(cursor, 6)
  cursor.bitAt += customPurposes * 2
}

function isWithinSegment({ segment, bitAt }: BitCursor): boolean {
  return bitAt <= segment.length * 6
}

/** Reads up to 16 bits and advances. Reads zeros past the end, so that counts stop there. */
export function readBits(cursor: BitCursor, width: number): number {
  let value = 0
  for (let missing = width; missing > 0; ) {
    const bitsLeft = 6 - (cursor.bitAt % 6)
    const taken = Math.min(missing, bitsLeft)
    const sixBits = SIX_BITS[cursor.segment.charCodeAt(Math.floor(cursor.bitAt / 6))] ?? 0
    value = (value << taken) | ((sixBits >> (bitsLeft - taken)) & ((1 << taken) - 1))
    cursor.bitAt += taken
    missing -= taken
  }
  return value
}

/** The six bits of a character, by its code. */
const SIX_BITS = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, ALPHABET.indexOf(String.fromCharCode(code))),
)
