import type { UntrustedObject } from '../util/is-object.ts'
import { parseCapturedAt, toCredibleTime } from './captured-at.ts'
import { type ConsentSignal, noSignal, parseConsentValue } from './consent-signal.ts'

/** The names under which callers hand on the header `Sec-GPC` or navigator.globalPrivacyControl. */
const GPC_MEMBERS = ['gpc', 'sec_gpc', 'Sec-GPC', 'global_privacy_control', 'globalPrivacyControl']

/**
 * Reads Global Privacy Control in the `consent` object. On, it is an opt-out that overrides every
 * grant; off or anything else says nothing, since the W3C draft gives a meaning to "1" alone.
 *
 * The only thing above it is an explicit advertising grant in the same object that is provably
 * later: `captured_at` after `gpc_captured_at`. The browser repeats GPC on every request, so a
 * signal without a time of its own is as recent as the event, and no consent captured before the
 * event can be later. Consent Mode and TCF never overrule it: where an opt-out law applies, their
 * defaults are grants that no person made.
 */
export function readGlobalPrivacyControl(
  consent: UntrustedObject | undefined,
  consentReading: ConsentSignal,
  receivedAt: Date,
): ConsentSignal {
  if (consent === undefined) return noSignal('consent.gpc')
  const member = GPC_MEMBERS.find(name => parseConsentValue(consent[name]) === 'granted')
  if (member === undefined) return noSignal('consent.gpc')
  const field = `consent.${member}`
  const captured_at = toCredibleTime(parseCapturedAt(consent.gpc_captured_at), receivedAt)
  if (isGrantedAfter(consentReading, captured_at)) {
    return { state: 'unknown', why: 'gpc_overruled_by_later_grant', field, captured_at }
  }
  return { state: 'denied', why: 'gpc_opt_out', field, captured_at }
}

function isGrantedAfter({ state, captured_at }: ConsentSignal, gpcAt: string | null): boolean {
  if (state !== 'granted' || captured_at === null || gpcAt === null) return false
  return Date.parse(captured_at) > Date.parse(gpcAt)
}
