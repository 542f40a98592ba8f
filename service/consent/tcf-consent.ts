import type { UntrustedObject } from '../util/is-object.ts'
import {
  type CapturedAt,
  CONSENT_AGE_DAYS_MAX,
  type ConsentSignal,
  isOlderThanDays,
  noSignal,
  parseCapturedAt,
  type SignalReason,
  toCredibleTime,
} from './consent-signal.ts'
import { decodeTcString, type TcChoices } from './tc-string.ts'

/**
 * Members that may contain the TC string. The API documents `string`; callers copy the others from
 * the TCData of `__tcfapi`. A denial under another name must not be missed.
 */
export const TC_STRING_MEMBERS = ['string', 'tcString', 'tc_string', 'consent_string'] as const

/** TCF 2.2. Older policies allowed legitimate interest for the advertising purposes. */
const POLICY_VERSION_MIN = 4

/** Strings created from this day on require a DisclosedVendors segment (TCF 2.3). */
const DISCLOSED_VENDORS_FROM = Date.parse('2026-03-01T00:00:00Z')

/** The times of a TC string are midnight UTC of their day, so a choice may be a day off. */
const DAY_PRECISION_DAYS = 1

/**
 * Reads the `tcf` object. It grants if purposes 1 (storage), 3 and 4 (profiles and personalized
 * ads), and 7 (measurement) are all consented. Purpose 1 is waived if the string says that it was
 * not asked. Legitimate interest and vendor bits never count. A string that is undecodable, of an
 * older policy, or without required vendors is unknown, and so is a grant that is expired or from
 * the future. A refusal never lapses.
 *
 * The string is dated by `captured_at`, or else by its `lastUpdated`. A recent `captured_at` does
 * not revive an old string: confirming the choice would have updated the string.
 */
export function readTcfConsent(tcf: UntrustedObject | undefined, receivedAt: Date): ConsentSignal {
  if (tcf === undefined) return noSignal('tcf')
  const captured = parseCapturedAt(tcf.captured_at)
  const signals = selectTcStrings(tcf).map(member =>
    readTcString(tcf[member], { field: `tcf.${member}`, captured, receivedAt }),
  )
  return combineSignals(signals)
}

/** The members with a string. Blank ones count only if there is no other. */
function selectTcStrings(tcf: UntrustedObject): string[] {
  const given = TC_STRING_MEMBERS.filter(name => tcf[name] !== undefined)
  const filled = given.filter(name => tcf[name] !== null && tcf[name] !== '')
  return filled.length > 0 ? filled : given.slice(0, 1)
}

/**
 * Strings under several names should be one string. If they differ, any refusal denies, and a grant
 * counts only if all of them grant: which one is current is not known. They are as old as the
 * oldest.
 */
function combineSignals(signals: ConsentSignal[]): ConsentSignal {
  const [first] = signals
  if (first === undefined) return noSignal('tcf')
  const denied = signals.find(({ state }) => state === 'denied')
  if (denied !== undefined) return denied
  const other = signals.find(({ state }) => state !== first.state)
  if (other !== undefined) return unknownSignal('tc_strings_conflict', other.field, null)
  return signals.reduce((oldest, signal) =>
    (signal.captured_at ?? '') < (oldest.captured_at ?? '') ? signal : oldest,
  )
}

interface TcStringContext {
  field: string
  captured: CapturedAt
  receivedAt: Date
}

function readTcString(
  text: unknown,
  { field, captured, receivedAt }: TcStringContext,
): ConsentSignal {
  const choices = typeof text === 'string' ? decodeTcString(text) : null
  if (choices === null) return unknownSignal('tc_string_undecodable', field, null)
  const capturedOrUpdated = captured instanceof Date ? captured : choices.lastUpdated
  const captured_at = toCredibleTime(capturedOrUpdated, receivedAt)
  const invalidity = findInvalidity(choices)
  if (invalidity !== null) return unknownSignal(invalidity, field, captured_at)
  if (!consentsToAdvertising(choices)) {
    return { state: 'denied', why: 'tc_ad_purposes_refused', field, captured_at }
  }
  const lapse = findLapse(choices, captured, receivedAt)
  if (lapse !== null) return unknownSignal(lapse, field, captured_at)
  return { state: 'granted', why: 'tc_ad_purposes_granted', field, captured_at }
}

/** Why the purposes of the string cannot be read at any time. */
function findInvalidity(choices: TcChoices): SignalReason | null {
  if (choices.policyVersion < POLICY_VERSION_MIN) return 'tc_policy_too_old'
  const mustDisclose = choices.created.getTime() >= DISCLOSED_VENDORS_FROM
  return mustDisclose && !choices.disclosesVendors ? 'tc_disclosed_vendors_missing' : null
}

/** Why the string does not grant at the time of receipt. */
function findLapse(
  { created, lastUpdated }: TcChoices,
  captured: CapturedAt,
  receivedAt: Date,
): SignalReason | null {
  const isFuture = (time: Date) => isOlderThanDays(receivedAt, time, DAY_PRECISION_DAYS)
  if (isFuture(created) || isFuture(lastUpdated)) return 'tc_created_in_future'
  const isExpired =
    isOlderThanDays(lastUpdated, receivedAt, CONSENT_AGE_DAYS_MAX + DAY_PRECISION_DAYS) ||
    (captured instanceof Date && isOlderThanDays(captured, receivedAt, CONSENT_AGE_DAYS_MAX))
  return isExpired ? 'consent_expired' : null
}

function consentsToAdvertising({ purposesConsented, purposeOneTreatment }: TcChoices): boolean {
  const mayStore = purposeOneTreatment || purposesConsented.has(1)
  return mayStore && [3, 4, 7].every(purpose => purposesConsented.has(purpose))
}

function unknownSignal(
  why: SignalReason,
  field: string,
  captured_at: string | null,
): ConsentSignal {
  return { state: 'unknown', why, field, captured_at }
}
