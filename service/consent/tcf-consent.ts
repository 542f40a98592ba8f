import type { UntrustedObject } from '../util/is-object.ts'
import {
  type CapturedAt,
  CONSENT_AGE_DAYS_MAX,
  isOlderThanDays,
  parseCapturedAt,
  toCredibleTime,
} from './captured-at.ts'
import { type ConsentSignal, noSignal, type SignalReason } from './consent-signal.ts'
import { decodeTcString, type TcChoices } from './tc-string.ts'

/**
 * Where the TC string is found: `string` in our contract; the others are what people paste from
 * the TCData of `__tcfapi`. Overlooking a refusal because of its name would deliver the event.
 */
export const TC_STRING_MEMBERS = ['string', 'tcString', 'tc_string', 'consent_string'] as const

/** TCF 2.2; under older policies legitimate interest was possible for the advertising purposes. */
const POLICY_VERSION_MIN = 4

/** Strings created from this day on are invalid without a DisclosedVendors segment (TCF 2.3). */
const DISCLOSED_VENDORS_FROM = Date.parse('2026-03-01T00:00:00Z')

/** `lastUpdated` is midnight UTC of its day, whatever the hour of the choice was. */
const LAST_UPDATED_TOLERANCE_DAYS = 1

/**
 * Reduces the `tcf` object (domain reference, section E). Purposes 1 (storage), 3 and 4 (profiles
 * and personalised ads) and 7 (measurement) must all be consented; 1 is waived when the string says
 * that it was not asked. Legitimate interest never counts, nor does a vendor bit. A string that is
 * undecodable, of an older policy, without its disclosed vendors, or expired is unknown.
 *
 * The string is dated by `captured_at`, else by its `lastUpdated`. A young `captured_at` does not
 * revive an old string: a choice confirmed again would have updated it.
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
  const dated = captured instanceof Date ? captured : choices.lastUpdated
  const captured_at = toCredibleTime(dated, receivedAt)
  const obstacle = findInvalidity(choices, captured, receivedAt)
  if (obstacle !== null) return unknownSignal(obstacle, field, captured_at)
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
