import type { UntrustedObject } from '../../runtime/util/is-object.ts'
import { classifyMember } from './consent-members.ts'
import {
  type CapturedAt,
  CONSENT_AGE_DAYS_MAX,
  type ConsentSettings,
  type ConsentSignal,
  isOlderThanDays,
  normalizeMemberName,
  noSignal,
  parseCapturedAt,
  parseConsentValue,
  type SignalReason,
  toCredibleTime,
} from './consent-signal.ts'
import { decodeTcString, type TcChoices } from './tc-string.ts'

type TcfMemberKind = 'string' | 'additional' | 'gdpr_applies'

/**
 * Normalized names of members. The API documents `string`; callers copy the others from the TCData
 * of `__tcfapi`, the cookie `euconsent-v2`, the mobile keys `IABTCF_...`, or URL parameters. A
 * denial under another name must not be missed.
 */
const TCF_MEMBERS: ReadonlyMap<string, TcfMemberKind> = new Map<string, TcfMemberKind>([
  ...toEntries(
    'string',
    `string tcstring consentstring tcfstring tcfconsentstring euconsent euconsentv2
     iabtcftcstring gdprconsent gdprconsentstring`,
  ),
  ...toEntries('gdpr_applies', 'gdprapplies iabtcfgdprapplies gdpr'),
  ...toEntries(
    'additional',
    'addtlconsent additionalconsent additionalconsentstring acstring iabtcfaddtlconsent',
  ),
])

function toEntries(kind: TcfMemberKind, names: string): [string, TcfMemberKind][] {
  return names.split(/\s+/).map(name => [name, kind])
}

/** Classifies a member of `tcf` by its name. */
export function classifyTcfMember(name: string): TcfMemberKind | undefined {
  return TCF_MEMBERS.get(normalizeMemberName(name))
}

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
export function readTcfConsent(
  tcf: UntrustedObject | undefined,
  receivedAt: Date,
  { gppTcStrings = [], settings = {} }: TcfConsentOptions = {},
): ConsentSignal {
  if (tcf === undefined && gppTcStrings.length === 0) return noSignal('tcf')
  const members = collectMembers(tcf ?? {})
  const captured = parseCapturedAt(tcf?.captured_at)
  const signals = [...selectTcStrings(members), ...gppTcStrings].map(({ text, field }) =>
    readTcString(text, { field, captured, receivedAt }),
  )
  if (signals.length === 0) return explainMissingString(members)
  const combined = combineSignals(signals)
  const provider = settings.additionalConsentProvider
  if (combined.state !== 'granted' || provider === undefined) return combined
  return requireAdditionalConsent(combined, members.additional, provider)
}

interface TcfConsentOptions {
  /** The EU sections of GPP strings. */
  gppTcStrings?: readonly TcStringMember[] | undefined
  settings?: ConsentSettings | undefined
}

interface TcStringMember {
  field: string
  text: unknown
}

interface TcfMembers {
  strings: TcStringMember[]
  additional: TcStringMember[]
  /** False: the platform says that TCF does not apply to this person. */
  gdprApplies: boolean
  hasOther: boolean
}

function collectMembers(tcf: UntrustedObject): TcfMembers {
  const members: TcfMembers = { strings: [], additional: [], gdprApplies: true, hasOther: false }
  for (const name of Object.keys(tcf)) {
    const text = tcf[name]
    const field = `tcf.${name}`
    const kind = classifyTcfMember(name)
    if (kind === 'string') members.strings.push({ field, text })
    else if (kind === 'additional') members.additional.push({ field, text })
    else if (kind === 'gdpr_applies') {
      members.hasOther = true
      if (parseConsentValue(text) === 'denied') members.gdprApplies = false
    } else if (classifyMember(name, text) !== 'provenance') members.hasOther = true
  }
  return members
}

/** The members with a string. Blank ones count only if there is no other. */
function selectTcStrings({ strings, gdprApplies }: TcfMembers): TcStringMember[] {
  const filled = strings.filter(({ text }) => text !== null && text !== '')
  if (filled.length > 0) return filled
  // TCData without GDPR has an empty string.
  return gdprApplies ? strings.slice(0, 1) : []
}

/** TCF data without a string is unreadable, unless it says that TCF does not apply. */
function explainMissingString({ additional, gdprApplies, hasOther }: TcfMembers): ConsentSignal {
  const isSilent = !gdprApplies || (!hasOther && additional.length === 0)
  return isSilent ? noSignal('tcf') : unknownSignal('tc_string_missing', 'tcf', null)
}

/** Besides the purposes, the platform needs consent where an Additional Consent string lists it. */
function requireAdditionalConsent(
  granted: ConsentSignal,
  additional: TcStringMember[],
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
