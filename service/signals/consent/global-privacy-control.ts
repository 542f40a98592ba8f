import type { PrivacyMember } from './consent-members.ts'
import { parseOptOut } from './consent-members.ts'
import {
  type ConsentSignal,
  isCapturedAfterOptOut,
  noSignal,
  parseCapturedAt,
  parseConsentValue,
  toCredibleTime,
} from './consent-signal.ts'

/** The name of the request header, as 422 names it. */
const HEADER_FIELD = 'Sec-GPC'

interface GpcContext {
  /** Whether the browser sent `Sec-GPC: 1`. Only known for requests with a publishable key. */
  hasHeader?: boolean | undefined
  advertisingConsent: ConsentSignal
  receivedAt: Date
}

/**
 * Reads Global Privacy Control, as members of the submission and as the header of a browser. If it
 * is on, it is an opt-out and overrides every grant. Off is no signal, because the W3C draft
 * defines only "1".
 *
 * Only an explicit advertising grant in `consent` overrides it, if it is provably later
 * (`isCapturedAfterOptOut`) than the `gpc_captured_at` beside the signal. Browsers send GPC with
 * every request, so a signal without a time of its own, such as the header, is as recent as the
 * event. Consent Mode and TCF never override it: where an opt-out law applies, their defaults are
 * grants that no person made.
 */
export function readGlobalPrivacyControl(
  members: readonly PrivacyMember[],
  { hasHeader = false, advertisingConsent, receivedAt }: GpcContext,
): ConsentSignal {
  let overruled: ConsentSignal | null = null
  for (const { owner, field, value } of members) {
    if (!isOptOut(value)) continue
    const captured_at = toCredibleTime(parseCapturedAt(owner.gpc_captured_at), receivedAt)
    if (!isGrantedAfter(advertisingConsent, captured_at, receivedAt)) {
      return { state: 'denied', why: 'gpc_opt_out', field, captured_at }
    }
    overruled ??= { state: 'unknown', why: 'gpc_overruled_by_later_grant', field, captured_at }
  }
  if (hasHeader) {
    return { state: 'denied', why: 'gpc_opt_out', field: HEADER_FIELD, captured_at: null }
  }
  return overruled ?? noSignal('consent.gpc')
}

function isOptOut(value: unknown): boolean {
  return parseOptOut(value) === 'refused' || parseConsentValue(value) === 'granted'
}

function isGrantedAfter(
  { state, captured_at }: ConsentSignal,
  gpcAt: string | null,
  receivedAt: Date,
): boolean {
  if (state !== 'granted' || captured_at === null || gpcAt === null) return false
  return isCapturedAfterOptOut(new Date(captured_at), { optedOutAt: new Date(gpcAt), receivedAt })
}
