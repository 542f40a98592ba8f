import { readAnswer } from './consent-answers.ts'
import {
  type CapturedAt,
  CONSENT_AGE_DAYS_MAX,
  type ConsentSettings,
  type ConsentSignal,
  isOlderThanDays,
  noSignal,
  parseCapturedAt,
  type SignalReason,
  toCredibleTime,
} from './consent-signal.ts'
import type {
  ConsentStatements,
  PlatformConsentNeeds,
  TcPurposesStatement,
  TcStringStatement,
} from './consent-statement.ts'
import { findRefusal, selectRelevant } from './platform-consent.ts'
import { decodeTcString, type TcChoices } from './tc-string.ts'

/** TCF 2.2. Older policies allowed legitimate interest for the advertising purposes. */
const POLICY_VERSION_MIN = 4

/** Strings created from this day on require a DisclosedVendors segment (TCF 2.3). */
const DISCLOSED_VENDORS_FROM = Date.parse('2026-03-01T00:00:00Z')

/** The times of a TC string are midnight UTC of their day, so a choice may be a day off. */
const DAY_PRECISION_DAYS = 1

interface TcfContext {
  needs: PlatformConsentNeeds
  /** The `captured_at` of the object. */
  ownCaptured: unknown
  receivedAt: Date
  settings: ConsentSettings | undefined
}

/**
 * Reads the TC strings and decoded purposes of a submission. They grant if all purposes that the
 * platform needs are consented: storage (1), profiles and personalized ads (3 and 4) and
 * measurement (7) for Meta. Purpose 1 is waived if the string says that it was not asked.
 * Legitimate interest never counts, and the bit of a vendor only for a platform that is on the
 * vendor list. A string of an older policy or without required
 * vendors grants nothing, and neither does one that is expired or from the future. A refusal counts
 * in each of them, and never lapses.
 *
 * The string is dated by `captured_at`, or else by its `lastUpdated`. A recent `captured_at` does
 * not revive an old string: confirming the choice would have updated the string.
 */
export function readTcfConsent(
  statements: ConsentStatements,
  { needs, ownCaptured, receivedAt, settings }: TcfContext,
): ConsentSignal {
  const { additionalConsents, isOutsideGdpr } = statements
  const tcPurposes = statements.tcPurposes.filter(({ isBlank }) => !(isBlank && isOutsideGdpr))
  const context = { captured: parseCapturedAt(ownCaptured), receivedAt, needs }
  const relevant = selectRelevant(statements, 'tcf', needs)
  const { denied, possible } = findRefusal(relevant)
  if (denied !== null) return { state: 'denied', ...denied, captured_at: null }
  const signals = [
    ...selectTcStrings(statements).map(string => readTcString(string, context)),
    ...tcPurposes.map(purposes => readTcPurposes(purposes, context)),
  ]
  const refusedVendor = findRefusedVendor(statements, needs)
  if (refusedVendor !== null) {
    return { state: 'denied', why: 'tc_vendor_refused', field: refusedVendor, captured_at: null }
  }
  const combined = combineSignals(signals)
  if (combined.state !== 'denied' && possible !== null) {
    return unknownSignal('possible_refusal', possible, null)
  }
  if (signals.length === 0) {
    const hasOther = relevant.hasOther || relevant.choices.length > 0
    return explainMissingString(statements, hasOther)
  }
  const provider = needs.isAdditionalProvider ? settings?.additionalConsentProvider : undefined
  if (combined.state !== 'granted' || provider === undefined) return combined
  return requireAdditionalConsent(combined, additionalConsents, provider)
}

/** The decoded vendors that refuse the platform; those that leave it out say nothing. */
function findRefusedVendor(
  { tcVendors }: ConsentStatements,
  { tcfVendorId }: PlatformConsentNeeds,
): string | null {
  const refused = tcVendors.find(({ consents }) => {
    const consent = consents[String(tcfVendorId)]
    return consent !== undefined && readAnswer(consent).answer === 'no'
  })
  return tcfVendorId === null ? null : (refused?.field ?? null)
}

/** The members with a string. Blank ones count only if there is nothing else. */
function selectTcStrings({
  tcStrings,
  tcPurposes,
  gdprApplies,
}: ConsentStatements): TcStringStatement[] {
  const filled = tcStrings.filter(({ text }) => text !== null && text !== '')
  if (filled.length > 0 || tcPurposes.length > 0) return filled
  // TCData without GDPR has an empty string.
  return gdprApplies ? tcStrings.slice(0, 1) : []
}

/** TCF data without a string is unreadable, unless it says that TCF does not apply. */
function explainMissingString(
  { additionalConsents, gdprApplies }: ConsentStatements,
  hasOther: boolean,
): ConsentSignal {
  const isSilent = !gdprApplies || (!hasOther && additionalConsents.length === 0)
  return isSilent ? noSignal('tcf') : unknownSignal('tc_string_missing', 'tcf', null)
}

/** Besides the purposes, the platform needs consent where an Additional Consent string lists it. */
function requireAdditionalConsent(
  granted: ConsentSignal,
  additional: TcStringStatement[],
  providerId: number,
): ConsentSignal {
  const { captured_at } = granted
  for (const { field, text } of additional) {
    if (text === null || text === '') continue
    const isConsented = hasAdditionalConsent(text, providerId)
    if (isConsented === null) return unknownSignal('ac_string_undecodable', field, captured_at)
    if (!isConsented)
      return { state: 'denied', why: 'ac_provider_not_consented', field, captured_at }
  }
  return granted
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
  captured: CapturedAt
  receivedAt: Date
  needs: PlatformConsentNeeds
}

function readTcString(
  { field, text }: TcStringStatement,
  { captured, receivedAt, needs }: TcStringContext,
): ConsentSignal {
  const choices = typeof text === 'string' ? decodeTcString(text) : null
  if (choices === null) return unknownSignal('tc_string_undecodable', field, null)
  const capturedOrUpdated = captured instanceof Date ? captured : choices.lastUpdated
  const captured_at = toCredibleTime(capturedOrUpdated, receivedAt)
  if (!isConsented(choices, needs)) {
    return { state: 'denied', why: 'tc_ad_purposes_refused', field, captured_at }
  }
  if (needs.tcfVendorId !== null && !choices.isVendorConsented(needs.tcfVendorId)) {
    return { state: 'denied', why: 'tc_vendor_refused', field, captured_at }
  }
  const reason = findInvalidity(choices) ?? findLapse(choices, captured, receivedAt)
  if (reason !== null) return unknownSignal(reason, field, captured_at)
  return { state: 'granted', why: 'tc_ad_purposes_granted', field, captured_at }
}

/** Decoded purposes have no policy and no date of their own. */
function readTcPurposes(
  { field, consented, implied }: TcPurposesStatement,
  { captured, receivedAt, needs }: TcStringContext,
): ConsentSignal {
  const captured_at = toCredibleTime(captured, receivedAt)
  const isRefused = needs.tcfPurposes.some(each => !consented.has(each) && !implied.has(each))
  if (isRefused) return { state: 'denied', why: 'tc_ad_purposes_refused', field, captured_at }
  if (captured instanceof Date && isOlderThanDays(captured, receivedAt, CONSENT_AGE_DAYS_MAX)) {
    return unknownSignal('consent_expired', field, captured_at)
  }
  if (needs.tcfPurposes.every(each => consented.has(each))) {
    return { state: 'granted', why: 'tc_ad_purposes_granted', field, captured_at }
  }
  return unknownSignal('tc_consent_implied', field, captured_at)
}

/** Why a string grants nothing at any time. */
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

function isConsented(
  { purposesConsented, purposeOneTreatment }: TcChoices,
  { tcfPurposes }: PlatformConsentNeeds,
): boolean {
  return tcfPurposes.every(
    purpose => purposesConsented.has(purpose) || (purpose === 1 && purposeOneTreatment),
  )
}

function unknownSignal(
  why: SignalReason,
  field: string,
  captured_at: string | null,
): ConsentSignal {
  return { state: 'unknown', why, field, captured_at }
}

/** Longer strings are not read. All of Google's providers need about 5,000 characters. */
const ADDITIONAL_CONSENT_LENGTH_MAX = 8_192

const IDS = String.raw`(?:\d{1,5}(?:\.\d{1,5})*)?`
const ADDITIONAL_CONSENT = new RegExp(`^(?:1~${IDS}|2~${IDS}(?:~dv\\.${IDS})?)$`)

/** Whether a value has the form of Google's Additional Consent string, version 1 or 2. */
export function isAdditionalConsentString(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= ADDITIONAL_CONSENT_LENGTH_MAX &&
    ADDITIONAL_CONSENT.test(value)
  )
}

/**
 * Whether a provider has consent by Google's Additional Consent string, which covers providers that
 * are not on the IAB vendor list: `1~consented ids`, or `2~consented ids~dv.disclosed ids`. Null
 * for other text.
 */
function hasAdditionalConsent(value: unknown, providerId: number): boolean | null {
  if (!isAdditionalConsentString(value)) return null
  const [, consented = ''] = value.split('~')
  return consented.split('.').includes(String(providerId))
}
