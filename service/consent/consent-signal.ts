import { LRUCache } from 'lru-cache'

/** The state of one input for advertising. Unknown neither grants nor denies. */
export type ConsentState = 'granted' | 'denied' | 'unknown'

/** Why an input has its state. `no_signal` means absent; the other unknowns were unreadable. */
export type SignalReason =
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
 * One input of the decision, reduced to a state and its reason. It is plain JSON, because the trace
 * stores it: it has names of known members and times, never text from the caller. `field` is the
 * dotted path of the member that decided, or of the input. `captured_at` is UTC, ISO 8601 with
 * milliseconds, or null without a credible time.
 */
export interface ConsentSignal {
  state: ConsentState
  why: SignalReason
  field: string
  captured_at: string | null
}

/** The input is missing or has no member about advertising. */
export function noSignal(field: string, captured_at: string | null = null): ConsentSignal {
  return { state: 'unknown', why: 'no_signal', field, captured_at }
}

/** Enough for the longest word below with separators. Longer text is unknown. */
const WORD_LENGTH_MAX = 24

/**
 * Known words, normalized: lower case, with `_` for `-` and spaces. They come from Consent Mode
 * (`granted`), Google's Data Manager API (`CONSENT_GRANTED`), cookie banners (`allow`, `accepted`,
 * `opt_in`), forms (`yes`, `on`), and booleans sent as text. `UNSPECIFIED`, `pending`, `implied`,
 * and other languages are deliberately unknown.
 */
const STATE_BY_VALUE: ReadonlyMap<string, ConsentState> = new Map<string, ConsentState>([
  ...toStateEntries(
    'granted',
    `granted grant consent_granted consented given yes true on 1
     allow allowed accept accepted opt_in optin opted_in`,
  ),
  ...toStateEntries(
    'denied',
    `denied deny consent_denied not_granted no false off 0
     disallow disallowed reject rejected refuse refused decline declined
     opt_out optout opted_out withdrawn revoked`,
  ),
])

/**
 * Parses one consent value: a boolean, 1 or 0, or a known word in any case. Everything else,
 * including null, is unknown.
 */
export function parseConsentValue(value: unknown): ConsentState {
  if (value === true || value === 1) return 'granted'
  if (value === false || value === 0) return 'denied'
  if (typeof value !== 'string' || value.length > WORD_LENGTH_MAX) return 'unknown'
  // Most callers send the words of Consent Mode, which need no normalization.
  return STATE_BY_VALUE.get(value) ?? STATE_BY_VALUE.get(normalizeConsentValue(value)) ?? 'unknown'
}

function normalizeConsentValue(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[-\s]+/g, '_')
}

function toStateEntries(state: ConsentState, words: string): [string, ConsentState][] {
  return words.split(/\s+/).map(word => [word, state])
}

/** Longer than any known member. */
const NAME_LENGTH_MAX = 40

/**
 * Normalizes a member name, so that `ad_user_data`, `adUserData`, `AD-USER-DATA`, and
 * `Ad User Data` are equal. Returns empty text for a name that is too long to be known.
 */
export function normalizeMemberName(name: string): string {
  if (name.length > NAME_LENGTH_MAX) return ''
  const cached = normalizedNames.get(name)
  if (cached !== undefined) return cached
  const normalized = name.replace(/[-_\s]/g, '').toLowerCase()
  if (CACHEABLE_NAME.test(name)) normalizedNames.set(name, normalized)
  return normalized
}

/**
 * Caches normalized names: each name is normalized two or three times per event, and callers send
 * the same few. Only names of letters are cached, to keep identifiers out of memory.
 */
const normalizedNames = new LRUCache<string, string>({ max: 1_000 })
const CACHEABLE_NAME = /^[a-z][a-z_-]*$/i
