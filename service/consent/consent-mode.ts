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
 * Reduces the `consent_mode` object: Google Consent Mode v2 as a proxy for the banner's choice
 * (domain reference, section E). Any of the three advertising signals denied denies. It grants
 * when ad_storage and ad_user_data are granted and ad_personalization is granted or absent; a v1
 * object without ad_user_data, or an unreadable word, is unknown. analytics_storage never matters.
 *
 * Consent Mode has no time of its own, so `consent.captured_at` dates it as well, unless the object
 * brings a `captured_at`; only its own time can expire it.
 */
export function readConsentMode(
  consentMode: UntrustedObject | undefined,
  consentCaptured: CapturedAt,
  receivedAt: Date,
): ConsentSignal {
  if (consentMode === undefined) return noSignal('consent_mode')
  const own = parseCapturedAt(consentMode.captured_at)
  const captured_at = toCredibleTime(own === 'missing' ? consentCaptured : own, receivedAt)
  if (own instanceof Date && isOlderThanDays(own, receivedAt, CONSENT_AGE_DAYS_MAX)) {
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

/** The path of the first advertising signal, and of those that denied, granted or said nothing. */
interface ConsentModeFields {
  any: string | null
  denied: string | null
  unreadable: string | null
  storage: string | null
  userData: string | null
}

function collectFields(consentMode: UntrustedObject): ConsentModeFields {
  const spoken: ConsentModeFields = {
    any: null,
    denied: null,
    unreadable: null,
    storage: null,
    userData: null,
  }
  for (const name of Object.keys(consentMode)) {
    const signal = normalizeMemberName(name)
    if (signal !== 'adstorage' && signal !== 'aduserdata' && signal !== 'adpersonalization')
      continue
    const field = `consent_mode.${name}`
    const value = consentMode[name]
    const state = parseConsentValue(value)
    spoken.any ??= field
    if (state === 'denied') spoken.denied ??= field
    // Null is a signal not set, as if it were absent; it grants nothing.
    else if (state === 'unknown' && value !== null && value !== undefined)
      spoken.unreadable ??= field
    else if (state === 'granted' && signal === 'adstorage') spoken.storage ??= field
    else if (state === 'granted' && signal === 'aduserdata') spoken.userData ??= field
  }
  return spoken
}
