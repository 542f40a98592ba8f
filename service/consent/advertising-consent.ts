import { isObject, type UntrustedObject } from '../util/is-object.ts'
import {
  type CapturedAt,
  CONSENT_AGE_DAYS_MAX,
  type ConsentSignal,
  isCapturedAfterOptOut,
  isOlderThanDays,
  normalizeMemberName,
  noSignal,
  parseCapturedAt,
  parseConsentValue,
  toCredibleTime,
} from './consent-signal.ts'

/**
 * Reads the free-form `consent` object. One denied member denies. It grants if every member is
 * readable and at least one is granted. An unreadable word beside a grant makes the input unknown,
 * because it may be a denial in another language. Null means no answer: it does not affect a grant
 * beside it, but alone it is an unreadable signal, not an absent one.
 *
 * A grant captured more than 395 days ago is expired; a denial never lapses. A `captured_at`
 * without any other member is no signal at any age.
 */
export function readAdvertisingConsent(
  consent: UntrustedObject | undefined,
  captured: CapturedAt,
  receivedAt: Date,
): ConsentSignal {
  if (consent === undefined) return noSignal('consent')
  const captured_at = toCredibleTime(captured, receivedAt)
  const { denied, unreadable, granted, unset } = collectFields(consent)
  if (!denied && !unreadable && !granted && !unset) return noSignal('consent', captured_at)
  if (denied !== null) return { state: 'denied', why: 'words_denied', field: denied, captured_at }
  if (captured instanceof Date && isOlderThanDays(captured, receivedAt, CONSENT_AGE_DAYS_MAX)) {
    const field = 'consent.captured_at'
    return { state: 'unknown', why: 'consent_expired', field, captured_at }
  }
  if (granted !== null && unreadable === null) {
    return { state: 'granted', why: 'words_granted', field: granted, captured_at }
  }
  const field = unreadable ?? unset ?? 'consent'
  return { state: 'unknown', why: 'words_unreadable', field, captured_at }
}

/** The dotted path of the first member in each state. */
interface FieldsByState {
  denied: string | null
  granted: string | null
  unreadable: string | null
  unset: string | null
}

/** Walks the object and one level of purpose containers. The body limit of 64 KiB bounds it. */
function collectFields(consent: UntrustedObject): FieldsByState {
  const fields: FieldsByState = { denied: null, granted: null, unreadable: null, unset: null }
  for (const name of Object.keys(consent)) {
    const value = consent[name]
    const kind = classifyMember(name, value)
    if (kind === 'container') {
      recordContainerFields(fields, `consent.${name}`, value as UntrustedObject)
    } else if (kind !== 'other') recordField(fields, { kind, value, field: `consent.${name}` })
  }
  return fields
}

function recordContainerFields(
  fields: FieldsByState,
  path: string,
  container: UntrustedObject,
): void {
  for (const name of Object.keys(container)) {
    const value = container[name]
    // A general member inside a container would also cover the container's other purposes.
    if (classifyMember(name, value) === 'advertising') {
      recordField(fields, { kind: 'advertising', value, field: `${path}.${name}` })
    }
  }
}

interface ConsentField {
  kind: 'advertising' | 'general'
  value: unknown
  field: string
}

function recordField(fields: FieldsByState, { kind, value, field }: ConsentField): void {
  const state = parseConsentValue(value)
  if (state === 'denied') fields.denied ??= field
  else if (kind === 'general') return
  else if (state === 'granted') fields.granted ??= field
  else if (value === null || value === undefined) fields.unset ??= field
  else fields.unreadable ??= field
}

/**
 * The members of `consent` about advertising, normalized (`ad_user_data` = `adUserData`). Members
 * of opposite polarity (`do_not_sell`, `sale_of_data`, `ads_opt_out`, `us_privacy`) are left out: a
 * "yes" there is a denial in one product and a grant in another. Other purposes (analytics,
 * functional, email, sms, content) never matter.
 */
const ADVERTISING_MEMBERS: ReadonlySet<string> = new Set(
  `adstorage aduserdata adpersonalization adpersonalisation
   ad ads adconsent adsconsent adtargeting adtracking adcookies
   adspersonalization adspersonalisation personalizedads personalisedads
   advertising advertisingconsent advertisingstorage advertisingcookies
   advertisement advertisements targetedadvertising personalizedadvertising
   marketing marketingconsent marketingstorage marketingcookies
   targeting targetingconsent targetingcookies retargeting remarketing`.split(/\s+/),
)

/**
 * Members about consent in general. A denial of everything includes advertising. A "yes" does not
 * name advertising, so these members can only deny.
 */
const GENERAL_MEMBERS: ReadonlySet<string> = new Set([
  'granted',
  'given',
  'consented',
  'consent',
  'status',
])

/** Members in which consent banners nest purposes, such as Segment's `categoryPreferences`. */
const PURPOSE_CONTAINERS: ReadonlySet<string> = new Set([
  'categories',
  'categorypreferences',
  'purposes',
  'preferences',
  'choices',
])

type MemberKind = 'advertising' | 'general' | 'container' | 'other'

/** Classifies a member of the `consent` object by its name and the type of its value. */
export function classifyMember(name: string, value: unknown): MemberKind {
  const normalized = normalizeMemberName(name)
  if (ADVERTISING_MEMBERS.has(normalized)) return 'advertising'
  if (GENERAL_MEMBERS.has(normalized)) return 'general'
  return PURPOSE_CONTAINERS.has(normalized) && isObject(value) ? 'container' : 'other'
}

/** Names that callers use for the `Sec-GPC` header or `navigator.globalPrivacyControl`. */
const GPC_MEMBERS = ['gpc', 'sec_gpc', 'Sec-GPC', 'global_privacy_control', 'globalPrivacyControl']

/**
 * Reads Global Privacy Control in the `consent` object. If it is on, it is an opt-out and overrides
 * every grant. Any other value is no signal, because the W3C draft defines only "1".
 *
 * Only an explicit advertising grant in the same object overrides it, if it is provably later:
 * `captured_at` more than 5 minutes after `gpc_captured_at` (`isCapturedAfterOptOut`). Browsers
 * send GPC with every request, so a signal without a time of its own is as recent as the event.
 * Consent Mode and TCF never override it: where an opt-out law applies, their defaults are grants
 * that no person made.
 */
export function readGlobalPrivacyControl(
  consent: UntrustedObject | undefined,
  advertisingConsent: ConsentSignal,
  receivedAt: Date,
): ConsentSignal {
  if (consent === undefined) return noSignal('consent.gpc')
  const member = GPC_MEMBERS.find(name => parseConsentValue(consent[name]) === 'granted')
  if (member === undefined) return noSignal('consent.gpc')
  const field = `consent.${member}`
  const captured_at = toCredibleTime(parseCapturedAt(consent.gpc_captured_at), receivedAt)
  if (isGrantedAfter(advertisingConsent, captured_at, receivedAt)) {
    return { state: 'unknown', why: 'gpc_overruled_by_later_grant', field, captured_at }
  }
  return { state: 'denied', why: 'gpc_opt_out', field, captured_at }
}

function isGrantedAfter(
  { state, captured_at }: ConsentSignal,
  gpcAt: string | null,
  receivedAt: Date,
): boolean {
  if (state !== 'granted' || captured_at === null || gpcAt === null) return false
  return isCapturedAfterOptOut(new Date(captured_at), { optedOutAt: new Date(gpcAt), receivedAt })
}

/**
 * Reads the `consent_mode` object: Google Consent Mode v2 as a proxy for the choice in the banner.
 * It denies if any of the three advertising signals is denied. It grants if ad_storage and
 * ad_user_data are granted and ad_personalization is granted or absent. A v1 object without
 * ad_user_data and an unreadable word are unknown. analytics_storage never matters.
 *
 * Consent Mode has no time of its own, so `consent.captured_at` dates it, unless the object has a
 * `captured_at`. Only its own time can expire a grant; a denial never lapses.
 */
export function readConsentMode(
  consentMode: UntrustedObject | undefined,
  consentCaptured: CapturedAt,
  receivedAt: Date,
): ConsentSignal {
  if (consentMode === undefined) return noSignal('consent_mode')
  const ownTime = parseCapturedAt(consentMode.captured_at)
  const captured_at = toCredibleTime(ownTime === 'missing' ? consentCaptured : ownTime, receivedAt)
  const { denied, unreadable, storage, userData, any } = collectSignals(consentMode)
  if (denied !== null) return { state: 'denied', why: 'words_denied', field: denied, captured_at }
  if (ownTime instanceof Date && isOlderThanDays(ownTime, receivedAt, CONSENT_AGE_DAYS_MAX)) {
    const field = 'consent_mode.captured_at'
    return { state: 'unknown', why: 'consent_expired', field, captured_at }
  }
  if (any === null) return noSignal('consent_mode')
  if (unreadable !== null) {
    return { state: 'unknown', why: 'words_unreadable', field: unreadable, captured_at }
  }
  if (storage === null || userData === null) {
    const why = 'ad_storage_or_ad_user_data_missing'
    return { state: 'unknown', why, field: any, captured_at }
  }
  return { state: 'granted', why: 'words_granted', field: userData, captured_at }
}

/** Paths of the first advertising signal and of the first one in each state. */
interface ConsentModeFields {
  any: string | null
  denied: string | null
  unreadable: string | null
  storage: string | null
  userData: string | null
}

const ADVERTISING_SIGNALS: ReadonlySet<string> = new Set([
  'adstorage',
  'aduserdata',
  'adpersonalization',
])

function collectSignals(consentMode: UntrustedObject): ConsentModeFields {
  const fields: ConsentModeFields = {
    any: null,
    denied: null,
    unreadable: null,
    storage: null,
    userData: null,
  }
  for (const name of Object.keys(consentMode)) {
    const signal = normalizeMemberName(name)
    if (!ADVERTISING_SIGNALS.has(signal)) continue
    const field = `consent_mode.${name}`
    const value = consentMode[name]
    const state = parseConsentValue(value)
    fields.any ??= field
    if (state === 'denied') fields.denied ??= field
    // A null signal counts as absent.
    else if (state === 'unknown' && value !== null && value !== undefined)
      fields.unreadable ??= field
    else if (state === 'granted' && signal === 'adstorage') fields.storage ??= field
    else if (state === 'granted' && signal === 'aduserdata') fields.userData ??= field
  }
  return fields
}
