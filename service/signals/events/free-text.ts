import { randomBytes } from 'node:crypto'
import { isObject } from '../../runtime/util/is-object.ts'
import type { LookupDigests } from '../identity/lookup-digests.ts'

/*
 * Tokens stand in stored free text where the caller sent an email address or a phone number. None
 * is ever sent to a platform. The person is found by keyed digests, which expire with the payload.
 */

export const TOKEN_PREFIX = 'redacted_'
export const TOKEN_HEX_DIGITS = 32

const TOKEN_PATTERN = `${TOKEN_PREFIX}[0-9a-f]{${TOKEN_HEX_DIGITS}}`

const TOKENS = new RegExp(TOKEN_PATTERN, 'g')

/** Makes a token from a normalized identifier. */
export type TokenMaker = (normalized: string) => string

/**
 * Random tokens for one event: an identifier that is there twice has one token, so that a reader
 * sees that the two are the same. No other event has it, so nothing remains that would join the
 * events of an erased person.
 */
export function createRandomTokenMaker(): TokenMaker {
  const tokens = new Map<string, string>()
  return normalized => {
    const known = tokens.get(normalized)
    if (known !== undefined) return known
    const token = `${TOKEN_PREFIX}${randomBytes(TOKEN_HEX_DIGITS / 2).toString('hex')}`
    tokens.set(normalized, token)
    return token
  }
}

/** The text with other tokens in place of its tokens. */
export function mapTokens(text: string, tokenOf: TokenMaker): string {
  return text.includes(TOKEN_PREFIX) ? text.replace(TOKENS, token => tokenOf(token)) : text
}

/** What an erasure leaves of a token. */
const ERASED_TOKEN = 'redacted'

/** Without `includes` before it, the pattern takes ten times as long. */
export function holdsToken(text: string): boolean {
  return text.includes(TOKEN_PREFIX) && text.search(TOKENS) !== -1
}

/** The keyed digests of the people whom an event names in free text or a URL. */
export function listFreeTextDigests({ lookup }: { lookup?: LookupDigests | undefined }): string[] {
  return [...new Set(lookup?.free_text?.flat() ?? [])]
}

/** For the trace: members whose identifiers tokens replaced. */
export function describeRedactedMembers(members: readonly string[]): string {
  return `Identifiers replaced by tokens, which no platform gets, in: ${members.join(', ')}.`
}

/** The text without what tells one token from another. */
export function eraseTokens(text: string): string {
  return text.includes(TOKEN_PREFIX) ? text.replace(TOKENS, ERASED_TOKEN) : text
}

/** `eraseTokens` in SQL. */
export function eraseTokensInSql(text: string): string {
  return `regexp_replace(${text}, '${TOKEN_PATTERN}', '${ERASED_TOKEN}', 'g')`
}

/**
 * The same value without texts that hold a token: such a member or list item is left out, and so is
 * a list or an object that holds nothing else. Undefined when nothing is left.
 */
export function omitTokens(value: unknown): unknown {
  if (typeof value === 'string') return holdsToken(value) ? undefined : value
  if (Array.isArray(value)) {
    const kept = value.map(omitTokens).filter(item => item !== undefined)
    return kept.length === 0 && value.length > 0 ? undefined : kept
  }
  if (!isObject(value)) return value
  const kept = omitTokensOfMembers(value)
  return Object.keys(kept).length === 0 && Object.keys(value).length > 0 ? undefined : kept
}

/** The same members, without names and values that hold a token. */
export function omitTokensOfMembers<Members extends object>(members: Members): Members {
  const kept = Object.entries(members).flatMap(([name, member]) => {
    const rest = holdsToken(name) ? undefined : omitTokens(member)
    return rest === undefined ? [] : [[name, rest]]
  })
  return Object.fromEntries(kept)
}
