import { isObject, type UntrustedObject } from '../util/is-object.ts'
import { classifyMember } from './advertising-consent.ts'
import { parseCapturedAt } from './captured-at.ts'
import type { ConsentInputs } from './consent-decision.ts'
import { normalizeMemberName, parseConsentValue } from './consent-signal.ts'
import { TC_STRING_LENGTH_MAX } from './tc-string.ts'
import { TC_STRING_MEMBERS } from './tcf-consent.ts'

/** What may be stored of each object; null when the event came without it. */
export interface ConsentRecord {
  consent: UntrustedObject | null
  consent_mode: UntrustedObject | null
  tcf: UntrustedObject | null
  /** Dotted paths of the members left out, as far as the names themselves may be kept. */
  dropped: string[]
  /** How many more were left out: unsafe names, and those beyond the limits. */
  dropped_unnamed: number
}

const MEMBERS_KEPT_MAX = 64
const NAMES_DROPPED_MAX = 32

/** Callers use anything as a name, a mail address or a phone number included. */
const SAFE_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,39}$/
/** Most names; too short for a run of 16 hexadecimal digits between two underscores. */
const LETTERS_NAME = /^(?:[A-Za-z]{1,15}(?:_|$))+$/
const NAME_DIGITS_MAX = 6
const NAME_HEX_RUN = /[0-9a-f]{16}/i

/** A core of 44 characters is the shortest; junk of another form may be an identifier. */
const TC_STRING_PATTERN = /^C[A-Za-z0-9_-]{43,}(?:\.[A-Za-z0-9_-]+){0,3}$/

/**
 * Cuts the three free-form objects down to what may reach the disk. Raw identifiers never may, and
 * a free-form object can hold any, so this keeps only what it knows to be harmless: booleans, null,
 * consent words, times of capture, TC strings verbatim (only a registered CMP may alter one) and a
 * few labels of provenance. Purpose containers are kept one level deep, as they are read. The rest
 * is dropped, and the names of what was dropped are kept for the trace where they are safe.
 */
export function buildConsentRecord({ consent, consent_mode, tcf }: ConsentObjects): ConsentRecord {
  const omitted: OmittedMembers = { names: [], unnamedCount: 0 }
  const kept = {
    consent: selectSafeMembers(consent, 'consent', omitted),
    consent_mode: selectSafeMembers(consent_mode, 'consent_mode', omitted),
    tcf: selectSafeMembers(tcf, 'tcf', omitted),
  }
  return { ...kept, dropped: omitted.names, dropped_unnamed: omitted.unnamedCount }
}

type ConsentObjects = Pick<ConsentInputs, 'consent' | 'consent_mode' | 'tcf'>

interface OmittedMembers {
  names: string[]
  unnamedCount: number
}

/** A safe name begins with a letter, so none of them is `__proto__`, which would be no member. */
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
    if (keptCount >= MEMBERS_KEPT_MAX || !isSafeName(name)) recordOmitted(omitted, null)
    else if (isSafeMember(path, name, member)) {
      kept[name] = member
      keptCount += 1
    } else if (path === 'consent' && classifyMember(name, member) === 'container') {
      kept[name] = selectSafeMembers(member, `consent.${name}`, omitted)
      keptCount += 1
    } else recordOmitted(omitted, `${path}.${name}`)
  }
  return kept
}

function isSafeName(name: string): boolean {
  if (!SAFE_NAME.test(name)) return false
  if (LETTERS_NAME.test(name)) return true
  if (NAME_HEX_RUN.test(name)) return false
  return name.replace(/\D/g, '').length <= NAME_DIGITS_MAX
}

function isSafeMember(path: string, name: string, value: unknown): boolean {
  if (value === null || parseConsentValue(value) !== 'unknown') return true
  if (name === 'captured_at' || name === 'gpc_captured_at') {
    return parseCapturedAt(value) instanceof Date
  }
  if (path === 'tcf' && TC_STRING_MEMBERS.some(member => member === name))
    return hasTcStringForm(value)
  return isProvenance(name, value)
}

function hasTcStringForm(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    value.length <= TC_STRING_LENGTH_MAX &&
    TC_STRING_PATTERN.test(value)
  )
}

function recordOmitted(omitted: OmittedMembers, safePath: string | null): void {
  if (safePath !== null && omitted.names.length < NAMES_DROPPED_MAX) omitted.names.push(safePath)
  else omitted.unnamedCount += 1
}

/** Members that say where a consent came from, worth keeping for an audit; folded names. */
const PROVENANCE_MEMBERS: ReadonlySet<string> = new Set([
  ...['version', 'method', 'source', 'policyversion', 'bannerversion', 'region'],
])

const LABEL_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** Versions are often named after a day (`privacy-2026-05-04`); one day's digits do not count. */
const CALENDAR_DAY = /(?<!\d)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)/
/** A phone number has at least 7 digits; so have click ids and most account numbers. */
const DIGITS_MAX = 6
/** Digests, UUIDs and visitor ids are long runs of hex digits once their separators are gone. */
const HEX_ONLY_MAX = 15

/**
 * True when a member is provenance that may be stored: one of the six known names, and a value
 * that looks like a label (`cmp-3.2`, `US-CA`, `2026-05-04`) and not like an identifier. Mail
 * addresses fail on their `@`, IP addresses and phone numbers on their digits.
 */
export function isProvenance(name: string, value: unknown): boolean {
  if (!PROVENANCE_MEMBERS.has(normalizeMemberName(name))) return false
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
