import type { UntrustedObject } from '../util/is-object.ts'
import {
  type CapturedAt,
  CONSENT_AGE_DAYS_MAX,
  isOlderThanDays,
  parseCapturedAt,
  toCredibleTime,
} from './captured-at.ts'
import {
  type ConsentSignal,
  normalizeMemberName,
  noSignal,
  parseConsentValue,
} from './consent-signal.ts'

/**
 * Reads the `consent_mode` object: Google Consent Mode v2 as a proxy for the choice in the banner.
 * It denies if any of the three advertising signals is denied. It grants if ad_storage and
 * ad_user_data are granted and ad_personalization is granted or absent. A v1 object without
 * ad_user_data and an unreadable word are unknown. analytics_storage never matters.
 *
 * Consent Mode has no time of its own, so `consent.captured_at` dates it, unless the object has a
 * `captured_at`. Only its own time can expire it.
 */
export function readConsentMode(
  consentMode: UntrustedObject | undefined,
  consentCaptured: CapturedAt,
  receivedAt: Date,
): ConsentSignal {
  if (consentMode === undefined) return noSignal('consent_mode')
  const ownTime = parseCapturedAt(consentMode.captured_at)
  const captured_at = toCredibleTime(ownTime === 'missing' ? consentCaptured : ownTime, receivedAt)
  if (ownTime instanceof Date && isOlderThanDays(ownTime, receivedAt, CONSENT_AGE_DAYS_MAX)) {
    const field = 'consent_mode.captured_at'
    return { state: 'unknown', why: 'consent_expired', field, captured_at }
  }
  const { denied, unreadable, storage, userData, any } = collectFields(consentMode)
  if (any === null) return noSignal('consent_mode')
  if (denied !== null) return { state: 'denied', why: 'words_denied', field: denied, captured_at }
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

function collectFields(consentMode: UntrustedObject): ConsentModeFields {
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
