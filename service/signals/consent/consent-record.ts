import type { ConsentOutcome, ConsentReason } from '@signalbox/contract/reasons.ts'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { readAnswer } from './consent-answers.ts'
import { GCS } from './consent-codes.ts'
import type { ConsentDecision, ConsentInputs } from './consent-decision.ts'
import { findMeaning, normalizeName } from './consent-forms.ts'
import { parseCapturedAt } from './consent-signal.ts'
import { decodeGppString, US_PRIVACY_STRING } from './gpp-string.ts'
import { isPrivacyMember } from './read-consent.ts'
import { TC_STRING_LENGTH_MAX } from './tc-string.ts'
import { isAdditionalConsentString } from './tcf-consent.ts'

/** What may be stored of each object. Null if the event has no such object. */
export interface ConsentRecord {
  consent: UntrustedObject | null
  consent_mode: UntrustedObject | null
  tcf: UntrustedObject | null
  /** Dotted paths of dropped members whose names are safe to store. */
  dropped: string[]
  /** Number of other dropped members: unsafe names, and members beyond the limits. */
  dropped_unnamed: number
}

/** The decision about an event that is stored; a denied one is refused. */
export type AcceptedDecision = Exclude<ConsentDecision, { outcome: 'denied' }>

/** The part of a stored decision that texts explain. */
export interface StoredConsentOutcome {
  outcome: ConsentOutcome
  reason: ConsentReason
}

const MEMBERS_KEPT_MAX = 64
const NAMES_DROPPED_MAX = 32

/** Callers use anything as a name, including email addresses and phone numbers. */
const SAFE_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,39}$/
/** Matches most names. Its words are too short for a run of 16 hexadecimal digits. */
const LETTERS_NAME = /^(?:[A-Za-z]{1,15}(?:_|$))+$/
const NAME_DIGITS_MAX = 6
const NAME_HEX_RUN = /[0-9a-f]{16}/i

/** The shortest core segment has 44 characters. Other text may be an identifier. */
const TC_STRING_PATTERN = /^C[A-Za-z0-9_-]{43,}(?:\.[A-Za-z0-9_-]+){0,3}$/

/**
 * Reduces the three free-form objects to what may be stored. They may contain raw identifiers,
 * which must never be stored, so this keeps only known safe values: booleans, null, consent words,
 * capture times, TC strings verbatim (only a registered CMP may alter one), and a few provenance
 * labels. Purpose containers are kept one level deep. Everything else is dropped, and safe names of
 * dropped members are kept for the trace.
 */
export function buildConsentRecord(body: ConsentObjects): ConsentRecord {
  const { consent, consent_mode, tcf } = body
  const omitted: OmittedMembers = { names: [], unnamedCount: 0 }
  const kept = {
    consent: selectSafeMembers(addTopLevelMembers(consent, body), 'consent', omitted),
    consent_mode: selectSafeMembers(consent_mode, 'consent_mode', omitted),
    tcf: selectSafeMembers(tcf, 'tcf', omitted),
  }
  return { ...kept, dropped: omitted.names, dropped_unnamed: omitted.unnamedCount }
}

type ConsentObjects = Pick<ConsentInputs, 'consent' | 'consent_mode' | 'tcf'>

/** GPC and GPP strings beside the objects are stored as members of `consent`. */
function addTopLevelMembers(consent: unknown, body: ConsentObjects): unknown {
  const names = Object.keys(body).filter(isPrivacyMember)
  if (names.length === 0) return consent
  const beside = Object.fromEntries(names.map(name => [name, (body as UntrustedObject)[name]]))
  return isObject(consent) ? { ...beside, ...consent } : beside
}

interface OmittedMembers {
  names: string[]
  unnamedCount: number
}

/** Safe names begin with a letter, so `__proto__` is never assigned. */
function selectSafeMembers(
  value: unknown,
  path: string,
  omitted: OmittedMembers,
): UntrustedObject | null {
  if (!isObject(value)) return null
  const kept: Record<string, unknown> = {}
  let keptCount = 0
  for (const name of Object.keys(value)) {
    const member = value[name]
    if (name === '__proto__') recordOmitted(omitted, `${path}.${name}`)
    else if (keptCount >= MEMBERS_KEPT_MAX || !isSafeName(name)) recordOmitted(omitted, null)
    else if (isSafeMember(path, name, member)) {
      kept[name] = member
      keptCount += 1
    } else if (path === 'consent' && isContainer(name, member)) {
      kept[name] = selectSafeMembers(member, `consent.${name}`, omitted)
      keptCount += 1
    } else recordOmitted(omitted, `${path}.${name}`)
  }
  return kept
}

function isContainer(name: string, member: unknown): boolean {
  if (!isObject(member)) return false
  const { list, hasVendors, coded } = findMeaning(name)
  return list === 'listed' || hasVendors || coded === 'gpp'
}

function isSafeName(name: string): boolean {
  if (!SAFE_NAME.test(name)) return false
  if (LETTERS_NAME.test(name)) return true
  if (NAME_HEX_RUN.test(name)) return false
  return name.replace(/\D/g, '').length <= NAME_DIGITS_MAX
}

function isSafeMember(path: string, name: string, value: unknown): boolean {
  if (value === null || isConsentAnswer(value)) return true
  if (name === 'captured_at' || name === 'gpc_captured_at') {
    return parseCapturedAt(value) instanceof Date
  }
  return isSafeSignal(path, name, value) || isProvenance(name, value)
}

/** A boolean, 0 or 1, or a text of known words. */
function isConsentAnswer(value: unknown): boolean {
  const { answer } = readAnswer(value)
  return answer === 'yes' || answer === 'no'
}

/** Coded signals: texts of a fixed form. A GPP string must also decode; it has no other form. */
function isSafeSignal(path: string, name: string, value: unknown): boolean {
  if (typeof value !== 'string') return false
  const coded = isGppObjectMember(path, name) ? 'gpp' : findMeaning(name).coded
  if (path === 'tcf') {
    if (coded === 'tc_string' || name === 'string') return hasTcStringForm(value)
    if (coded === 'additional_consent') return isAdditionalConsentString(value)
  }
  if (coded === 'us_privacy') return US_PRIVACY_STRING.test(value)
  if (coded === 'gcs') return GCS.test(value)
  return coded === 'gpp' && value.startsWith('D') && decodeGppString(value) !== null
}

/** The `string` of `gpp: {string, sid}`. */
function isGppObjectMember(path: string, name: string): boolean {
  const container = path.slice('consent.'.length)
  return name === 'string' && container !== '' && findMeaning(container).coded === 'gpp'
}

function hasTcStringForm(value: string): boolean {
  return value.length <= TC_STRING_LENGTH_MAX && TC_STRING_PATTERN.test(value)
}

function recordOmitted(omitted: OmittedMembers, safePath: string | null): void {
  if (safePath !== null && omitted.names.length < NAMES_DROPPED_MAX) omitted.names.push(safePath)
  else omitted.unnamedCount += 1
}

/** Members about the origin of a consent, kept for audits. Normalized names. */
const PROVENANCE_MEMBERS: ReadonlySet<string> = new Set([
  'version',
  'method',
  'source',
  'policyversion',
  'bannerversion',
  'region',
])

const LABEL_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** Version names often contain a date (`privacy-2026-05-04`), whose digits do not count. */
const CALENDAR_DAY = /(?<!\d)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)/
/** Phone numbers, click IDs, and most account numbers have at least 7 digits. */
const DIGITS_MAX = 6
/** Digests, UUIDs, and visitor IDs are longer runs of hex digits without their separators. */
const HEX_ONLY_MAX = 15

/**
 * Whether a member is provenance that may be stored: one of the six known names, with a value that
 * looks like a label (`cmp-3.2`, `US-CA`, `2026-05-04`) and not like an identifier. Email addresses
 * fail on `@`, IP addresses and phone numbers on their digits.
 */
export function isProvenance(name: string, value: unknown): boolean {
  if (!PROVENANCE_MEMBERS.has(normalizeName(name))) return false
  if (typeof value === 'number') return Number.isInteger(value) && hasFewDigits(value)
  if (typeof value !== 'string' || !LABEL_PATTERN.test(value)) return false
  const digits = value.replace(CALENDAR_DAY, '').replace(/\D/g, '')
  if (digits.length > DIGITS_MAX) return false
  const joined = value.replace(/[._-]/g, '')
  return joined.length <= HEX_ONLY_MAX || !/^[0-9a-f]+$/i.test(joined)
}

function hasFewDigits(value: number): boolean {
  return Math.abs(value) < 10 ** DIGITS_MAX
}
