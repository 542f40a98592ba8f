import { parseDisplayName } from '../users/display-name.ts'

export const CLIENT_NAME_CHARACTERS_MAX = 100

/**
 * Returns a name that a client chose for itself; null when it could be taken for text of our own
 * pages: it has quotation marks like theirs, a check mark, a link, or says that it is verified.
 */
export function parseClientName(input: unknown): string | null {
  const name = parseDisplayName(input, CLIENT_NAME_CHARACTERS_MAX)
  return name === null || isMisleading(name) ? null : name
}

/** Typographic quotation marks, also as angles, primes and corner brackets. */
const QUOTATION_MARKS = /[«»‹›\u201c-\u201f\u2033\u2036\u300c-\u300f\u301d-\u301f\uff02]/u
const CHECK_MARKS = /[\u2611\u2705\u2713\u2714\u{1f5f8}\u{1f5f9}]/u
const CLAIMS = /verif|official|certified|:\/\/|www\./
/** A word of look-alike letters, such as "verified" with a Cyrillic letter. */
const MIXED_SCRIPTS =
  /(?=\p{L}*\p{Script=Latin})(?=\p{L}*[\p{Script=Cyrillic}\p{Script=Greek}])\p{L}+/u

function isMisleading(name: string): boolean {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const patterns = [QUOTATION_MARKS, CHECK_MARKS, MIXED_SCRIPTS]
  return CLAIMS.test(plain) || patterns.some(pattern => pattern.test(name))
}

/** The name of a stored client. Names from before a rule may break it. */
export function showClientName(name: string): string {
  return parseClientName(name) ?? 'Unnamed agent'
}
