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

/** `lastUpdated` is midnight UTC of its day, so the choice may be a day younger. */
const LAST_UPDATED_TOLERANCE_DAYS = 1

/**
 * Reads the `tcf` object. It grants if purposes 1 (storage), 3 and 4 (profiles and personalized
 * ads), and 7 (measurement) are all consented. Purpose 1 is waived if the string says that it was
 * not asked. Legitimate interest and vendor bits never count. A string that is undecodable,
 * expired, of an older policy, or without required vendors is unknown.
 *
 * The string is dated by `captured_at`, or else by its `lastUpdated`. A recent `captured_at` does
 * not revive an old string: confirming the choice would have updated the string.
 */
export function readTcfConsent(tcf: UntrustedObject | undefined, receivedAt: Date): ConsentSignal {
  if (tcf === undefined) return noSignal('tcf')
  const member =
    TC_STRING_MEMBERS.find(name => typeof tcf[name] === 'string') ??
    TC_STRING_MEMBERS.find(name => tcf[name] !== undefined)
  if (member === undefined) return noSignal('tcf')
  const field = `tcf.${member}`
  const text = tcf[member]
  const choices = typeof text === 'string' ? decodeTcString(text) : null
  if (choices === null) return unknownSignal('tc_string_undecodable', field, null)

  const captured = parseCapturedAt(tcf.captured_at)
  const capturedOrUpdated = captured instanceof Date ? captured : choices.lastUpdated
  const captured_at = toCredibleTime(capturedOrUpdated, receivedAt)
  const invalidity = findInvalidity(choices, captured, receivedAt)
  if (invalidity !== null) return unknownSignal(invalidity, field, captured_at)
  return consentsToAdvertising(choices)
    ? { state: 'granted', why: 'tc_ad_purposes_granted', field, captured_at }
    : { state: 'denied', why: 'tc_ad_purposes_refused', field, captured_at }
}

function findInvalidity(
  choices: TcChoices,
  captured: CapturedAt,
  receivedAt: Date,
): SignalReason | null {
  if (choices.policyVersion < POLICY_VERSION_MIN) return 'tc_policy_too_old'
  const mustDisclose = choices.created.getTime() >= DISCLOSED_VENDORS_FROM
  if (mustDisclose && !choices.disclosesVendors) return 'tc_disclosed_vendors_missing'
  const lastUpdatedDaysMax = CONSENT_AGE_DAYS_MAX + LAST_UPDATED_TOLERANCE_DAYS
  const isExpired =
    isOlderThanDays(choices.lastUpdated, receivedAt, lastUpdatedDaysMax) ||
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
