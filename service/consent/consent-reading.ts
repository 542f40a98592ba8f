/** What one input says about advertising. Unknown never grants, and never refuses either. */
export type ConsentState = 'granted' | 'denied' | 'unknown'

/** Why an input has its state. `no_signal` is silence; the other unknowns were unreadable. */
export type ReadingWhy =
  | 'words_granted'
  | 'words_denied'
  | 'words_unreadable'
  | 'ad_storage_or_ad_user_data_missing'
  | 'tc_ad_purposes_granted'
  | 'tc_ad_purposes_refused'
  | 'tc_string_undecodable'
  | 'tc_policy_too_old'
  | 'tc_disclosed_vendors_missing'
  | 'consent_expired'
  | 'gpc_opt_out'
  | 'gpc_overruled_by_later_grant'
  | 'no_signal'
  | 'not_read'

/**
 * One input of the decision, reduced to a state and its reason. It is plain JSON because the trace
 * of an event stores it as it is, so it holds names of known members and times, never a caller's
 * own text. `field` is the dotted path of the member that decided, or of the input itself;
 * `captured_at` is UTC, ISO 8601 with milliseconds, null when no credible time came with the input.
 */
export interface ConsentReading {
  state: ConsentState
  why: ReadingWhy
  field: string
  captured_at: string | null
}

/** The input is missing, or carries nothing about advertising. */
export function silence(field: string, captured_at: string | null = null): ConsentReading {
  return { state: 'unknown', why: 'no_signal', field, captured_at }
}
