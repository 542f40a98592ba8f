import { LRUCache } from 'lru-cache'
/** What one input says about advertising. Unknown never grants, and never refuses either. */
export type ConsentState = 'granted' | 'denied' | 'unknown'

/** Why an input has its state. `no_signal` is silence; the other unknowns were unreadable. */
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
 * One input of the decision, reduced to a state and its reason. It is plain JSON because the trace
 * of an event stores it as it is, so it holds names of known members and times, never a caller's
 * own text. `field` is the dotted path of the member that decided, or of the input itself;
 * `captured_at` is UTC, ISO 8601 with milliseconds, null when no credible time came with the input.
 */
export interface ConsentSignal {
  state: ConsentState
  why: SignalReason
  field: string
  captured_at: string | null
}

/** The input is missing, or carries nothing about advertising. */
export function noSignal(field: string, captured_at: string | null = null): ConsentSignal {
  return { state: 'unknown', why: 'no_signal', field, captured_at }
}

/** The longest word below, with room for separators; longer text is not a word we know. */
const WORD_LENGTH_MAX = 24

/**
 * The words that say yes or no, folded: lower case, with `-` and spaces turned into `_`. They come
 * from Consent Mode (`granted`), Google's Data Manager API (`CONSENT_GRANTED`), cookie banners
 * (`allow`, `accepted`, `opt_in`), forms (`yes`, `on`) and languages that send text for booleans.
 * `UNSPECIFIED`, `pending`, `implied` and other languages are left out on purpose: unknown.
 */
const STATE_BY_WORD: ReadonlyMap<string, ConsentState> = new Map<string, ConsentState>([
  ...toStateEntries('granted', [
    ...['granted', 'grant', 'consent_granted', 'consented', 'given', 'yes', 'true', 'on', '1'],
    ...['allow', 'allowed', 'accept', 'accepted', 'opt_in', 'optin', 'opted_in'],
  ]),
  ...toStateEntries('denied', [
    ...['denied', 'deny', 'consent_denied', 'not_granted', 'no', 'false', 'off', '0'],
    ...['disallow', 'disallowed', 'reject', 'rejected', 'refuse', 'refused', 'decline', 'declined'],
    ...['opt_out', 'optout', 'opted_out', 'withdrawn', 'revoked'],
  ]),
])

/**
 * Reads one consent value: a boolean, the numbers 1 and 0, or a word of the vocabulary in any case.
 * Everything else, null included, is unknown: a word that we cannot read is not a grant.
 */
export function parseConsentValue(value: unknown): ConsentState {
  if (value === true || value === 1) return 'granted'
  if (value === false || value === 0) return 'denied'
  if (typeof value !== 'string' || value.length > WORD_LENGTH_MAX) return 'unknown'
  // Most callers send the words as Consent Mode writes them, so folding is the second try.
  return STATE_BY_WORD.get(value) ?? STATE_BY_WORD.get(normalizeWord(value)) ?? 'unknown'
}

function normalizeWord(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[-\s]+/g, '_')
}

function toStateEntries(state: ConsentState, words: string[]): [string, ConsentState][] {
  return words.map(word => [word, state])
}

/** Longer than any member that we know; a longer name is not worth folding. */
const NAME_LENGTH_MAX = 40

/**
 * Folds a member's name so that `ad_user_data`, `adUserData`, `AD-USER-DATA` and `Ad User Data`
 * are the same member. A name too long to be known folds to the empty text.
 */
export function normalizeMemberName(name: string): string {
  if (name.length > NAME_LENGTH_MAX) return ''
  const known = normalizedNames.get(name)
  if (known !== undefined) return known
  const folded = name.replace(/[-_\s]/g, '').toLowerCase()
  if (CACHEABLE_NAME.test(name)) normalizedNames.set(name, folded)
  return folded
}

/**
 * Each member of `consent` is folded two or three times, and callers send the same few. Only names
 * of letters are remembered, so that no identifier is.
 */
const normalizedNames = new LRUCache<string, string>({ max: 1_000 })
const CACHEABLE_NAME = /^[a-z][a-z_-]*$/i
