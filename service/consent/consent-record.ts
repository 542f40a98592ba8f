import { memberKind } from './advertising-members.ts'
import { readCapturedAt } from './captured-at.ts'
import type { ConsentInputs } from './consent-decision.ts'
import { readConsentWord } from './consent-word.ts'
import { type FreeFormObject, isFreeFormObject } from './free-form-object.ts'
import { isProvenance } from './provenance.ts'
import { TC_STRING_LENGTH_MAX } from './tc-string.ts'
import { TC_STRING_MEMBERS } from './tcf-consent.ts'

/** What may be stored of each object; null when the event came without it. */
export interface ConsentRecord {
  consent: FreeFormObject | null
  consent_mode: FreeFormObject | null
  tcf: FreeFormObject | null
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
const TC_STRING_FORM = /^C[A-Za-z0-9_-]{43,}(?:\.[A-Za-z0-9_-]+){0,3}$/

/**
 * Cuts the three free-form objects down to what may reach the disk. Raw identifiers never may, and
 * a free-form object can hold any, so this keeps only what it knows to be harmless: booleans, null,
 * consent words, times of capture, TC strings verbatim (only a registered CMP may alter one) and a
 * few labels of provenance. Purpose containers are kept one level deep, as they are read. The rest
 * is dropped, and the names of what was dropped are kept for the trace where they are safe.
 */
export function consentRecord({ consent, consent_mode, tcf }: ConsentObjects): ConsentRecord {
  const omitted: Omitted = { names: [], unnamedCount: 0 }
  const kept = {
    consent: safeObject(consent, 'consent', omitted),
    consent_mode: safeObject(consent_mode, 'consent_mode', omitted),
    tcf: safeObject(tcf, 'tcf', omitted),
  }
  return { ...kept, dropped: omitted.names, dropped_unnamed: omitted.unnamedCount }
}

export type ConsentObjects = Pick<ConsentInputs, 'consent' | 'consent_mode' | 'tcf'>

interface Omitted {
  names: string[]
  unnamedCount: number
}

/** A safe name begins with a letter, so none of them is `__proto__`, which would be no member. */
function safeObject(value: unknown, path: string, omitted: Omitted): FreeFormObject | null {
  if (!isFreeFormObject(value)) return null
  const kept: Record<string, unknown> = {}
  let keptCount = 0
  for (const name of Object.keys(value)) {
    const member = value[name]
    if (keptCount >= MEMBERS_KEPT_MAX || !isSafeName(name)) omit(omitted, null)
    else if (isSafeMember(path, name, member)) {
      kept[name] = member
      keptCount += 1
    } else if (path === 'consent' && memberKind(name, member) === 'container') {
      kept[name] = safeObject(member, `consent.${name}`, omitted)
      keptCount += 1
    } else omit(omitted, `${path}.${name}`)
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
  if (value === null || readConsentWord(value) !== 'unknown') return true
  if (name === 'captured_at' || name === 'gpc_captured_at') {
    return readCapturedAt(value) instanceof Date
  }
  if (path === 'tcf' && TC_STRING_MEMBERS.some(member => member === name)) return isTcForm(value)
  return isProvenance(name, value)
}

function isTcForm(value: unknown): boolean {
  return (
    typeof value === 'string' && value.length <= TC_STRING_LENGTH_MAX && TC_STRING_FORM.test(value)
  )
}

function omit(omitted: Omitted, safePath: string | null): void {
  if (safePath !== null && omitted.names.length < NAMES_DROPPED_MAX) omitted.names.push(safePath)
  else omitted.unnamedCount += 1
}
