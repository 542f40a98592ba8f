import type { ConsentState } from './consent-reading.ts'

/** The longest word below, with room for separators; longer text is not a word we know. */
const WORD_LENGTH_MAX = 24

/**
 * The words that say yes or no, folded: lower case, with `-` and spaces turned into `_`. They come
 * from Consent Mode (`granted`), Google's Data Manager API (`CONSENT_GRANTED`), cookie banners
 * (`allow`, `accepted`, `opt_in`), forms (`yes`, `on`) and languages that send text for booleans.
 * `UNSPECIFIED`, `pending`, `implied` and other languages are left out on purpose: unknown.
 */
const STATE_BY_WORD: ReadonlyMap<string, ConsentState> = new Map<string, ConsentState>([
  ...stateOfWords('granted', [
    ...['granted', 'grant', 'consent_granted', 'consented', 'given', 'yes', 'true', 'on', '1'],
    ...['allow', 'allowed', 'accept', 'accepted', 'opt_in', 'optin', 'opted_in'],
  ]),
  ...stateOfWords('denied', [
    ...['denied', 'deny', 'consent_denied', 'not_granted', 'no', 'false', 'off', '0'],
    ...['disallow', 'disallowed', 'reject', 'rejected', 'refuse', 'refused', 'decline', 'declined'],
    ...['opt_out', 'optout', 'opted_out', 'withdrawn', 'revoked'],
  ]),
])

/**
 * Reads one consent value: a boolean, the numbers 1 and 0, or a word of the vocabulary in any case.
 * Everything else, null included, is unknown: a word that we cannot read is not a grant.
 */
export function readConsentWord(value: unknown): ConsentState {
  if (value === true || value === 1) return 'granted'
  if (value === false || value === 0) return 'denied'
  if (typeof value !== 'string' || value.length > WORD_LENGTH_MAX) return 'unknown'
  // Most callers send the words as Consent Mode writes them, so folding is the second try.
  return STATE_BY_WORD.get(value) ?? STATE_BY_WORD.get(foldWord(value)) ?? 'unknown'
}

function foldWord(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[-\s]+/g, '_')
}

function stateOfWords(state: ConsentState, words: string[]): [string, ConsentState][] {
  return words.map(word => [word, state])
}
