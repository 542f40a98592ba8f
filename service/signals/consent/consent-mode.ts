import type { UntrustedObject } from '../../runtime/util/is-object.ts'
import { classifyMember, parseGcs, parseOptOut } from './consent-members.ts'
import {
  type CapturedAt,
  CONSENT_AGE_DAYS_MAX,
  type ConsentSignal,
  type ConsentState,
  isOlderThanDays,
  normalizeMemberName,
  noSignal,
  parseCapturedAt,
  parseConsentValue,
  toCredibleTime,
} from './consent-signal.ts'

/**
 * Reads the `consent_mode` object: Google Consent Mode v2 as a proxy for the choice in the banner.
 * It denies if any of the three advertising signals is denied. It grants if ad_storage and
 * ad_user_data are granted and ad_personalization is granted or absent. Google's `gcs` parameter
 * has ad_storage alone. A v1 object without ad_user_data, an unreadable word, and an object with
 * other signals alone are unknown. analytics_storage never affects a grant.
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
  const { denied, unreadable, storage, userData, any, hasOther } = collectSignals(consentMode)
  if (denied !== null) return { state: 'denied', why: 'words_denied', field: denied, captured_at }
  if (any === null && !hasOther) return noSignal('consent_mode')
  if (ownTime instanceof Date && isOlderThanDays(ownTime, receivedAt, CONSENT_AGE_DAYS_MAX)) {
    const field = 'consent_mode.captured_at'
    return { state: 'unknown', why: 'consent_expired', field, captured_at }
  }
  if (unreadable !== null) {
    return { state: 'unknown', why: 'words_unreadable', field: unreadable, captured_at }
  }
  if (any === null) {
    return {
      state: 'unknown',
      why: 'advertising_not_mentioned',
      field: 'consent_mode',
      captured_at,
    }
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
  /** Whether there are members about anything else. */
  hasOther: boolean
}

function collectSignals(consentMode: UntrustedObject): ConsentModeFields {
  const fields: ConsentModeFields = {
    any: null,
    denied: null,
    unreadable: null,
    storage: null,
    userData: null,
    hasOther: false,
  }
  for (const name of Object.keys(consentMode)) recordSignal(fields, name, consentMode[name])
  return fields
}

const ADVERTISING_SIGNALS: ReadonlySet<string> = new Set([
  'adstorage',
  'aduserdata',
  'adpersonalization',
])

function recordSignal(fields: ConsentModeFields, name: string, value: unknown): void {
  const signal = normalizeMemberName(name)
  const field = `consent_mode.${name}`
  if (signal === 'gcs') {
    fields.any ??= field
    recordState(fields, toState(parseGcs(value)), { signal: 'adstorage', field })
  } else if (ADVERTISING_SIGNALS.has(signal)) {
    fields.any ??= field
    // A null signal counts as absent.
    const state = value === null || value === undefined ? null : parseConsentValue(value)
    recordState(fields, state, { signal, field })
  } else {
    const kind = classifyMember(name, value)
    if (kind === 'provenance') return
    fields.hasOther = true
    // Global Privacy Control denies by itself; a value that may be "on" must not be ignored.
    if (kind === 'gpc' && parseOptOut(value) === 'unclear') fields.unreadable ??= field
  }
}

function toState(gcs: ReturnType<typeof parseGcs>): ConsentState | null {
  if (gcs === 'unset') return null
  return gcs === 'unclear' ? 'unknown' : gcs
}

function recordState(
  fields: ConsentModeFields,
  state: ConsentState | null,
  { signal, field }: { signal: string; field: string },
): void {
  if (state === 'denied') fields.denied ??= field
  else if (state === 'unknown') fields.unreadable ??= field
  else if (state === 'granted' && signal === 'adstorage') fields.storage ??= field
  else if (state === 'granted' && signal === 'aduserdata') fields.userData ??= field
}
