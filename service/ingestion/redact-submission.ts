import { createHmac, type KeyObject } from 'node:crypto'
import { APP_DATA_MEMBERS } from '@signalbox/contract/carried-members.ts'
import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import { VALUE_DATA_MEMBERS } from '@signalbox/contract/value-data.ts'
import { DROPPED_FIELDS_MAX, formatMemberPath } from '../identity/dropped-fields.ts'
import { containsIdentifier, redactIdentifiers, type TokenMaker } from '../identity/free-text.ts'

/**
 * Members whose text is sent as it is, with the names that are stored. URLs and `user_data` have
 * rules of their own.
 */
const FREE_TEXT_MEMBERS = [
  ['value_data', VALUE_DATA_MEMBERS],
  ['app_data', APP_DATA_MEMBERS],
] as const

export interface RedactedSubmission {
  submission: EventSubmission
  /** Dotted paths of the members in which a token replaced an identifier. */
  redacted: string[]
}

/**
 * Whether free text that travels holds an e-mail address or an international phone number. Almost
 * no event does, so the key for the tokens is needed for almost none.
 */
export function holdsIdentifiers(submission: EventSubmission): boolean {
  return FREE_TEXT_MEMBERS.some(([name, stored]) => {
    const member: object | undefined = submission[name]
    if (member === undefined) return false
    return Object.entries(member).some(([inner, value]) => stored.has(inner) && someText(value))
  })
}

function someText(value: unknown): boolean {
  if (typeof value === 'string') return containsIdentifier(value)
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(someText)
  for (const name of Object.keys(value)) {
    if (containsIdentifier(name) || someText((value as Record<string, unknown>)[name])) return true
  }
  return false
}

/** A copy of the submission in which tokens replace the identifiers in free text that travels. */
export function redactSubmission(
  submission: EventSubmission,
  tokenOf: TokenMaker,
): RedactedSubmission {
  const fields = new Set<string>()
  const copy = { ...submission }
  for (const [name, stored] of FREE_TEXT_MEMBERS) {
    const member: object | undefined = submission[name]
    if (member === undefined) continue
    const redacted = Object.entries(member).map(([inner, value]) => [
      inner,
      stored.has(inner) ? redactValue(value, `${name}.${inner}`, { tokenOf, fields }) : value,
    ])
    Object.assign(copy, { [name]: Object.fromEntries(redacted) })
  }
  return { submission: copy, redacted: [...fields].slice(0, DROPPED_FIELDS_MAX) }
}

interface Redaction {
  tokenOf: TokenMaker
  fields: Set<string>
}

function redactValue(value: unknown, path: string, redaction: Redaction): unknown {
  if (typeof value === 'string') return redactText(value, path, redaction)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    return value.map((item, index) => redactValue(item, `${path}[${index}]`, redaction))
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const memberPath = formatMemberPath(path, name)
      return [redactText(name, memberPath, redaction), redactValue(member, memberPath, redaction)]
    }),
  )
}

function redactText(text: string, path: string, { tokenOf, fields }: Redaction): string {
  const redacted = redactIdentifiers(text, tokenOf)
  if (redacted !== text) fields.add(path)
  return redacted
}

const TOKEN_HEX_DIGITS = 32

/**
 * Tokens that are stable for a tracker: orders of one address keep one token. HMAC-SHA256 under the
 * key that also protects the digests of erased people, since a plain digest could be tested against
 * every known address. Bound to the tracker, so that tokens of two trackers cannot be joined, and
 * to its use, so that a token never equals the stored digest of an erased person.
 */
export function createTokenMaker(key: KeyObject, trackerId: string): TokenMaker {
  return normalized => {
    const hmac = createHmac('sha256', key).update(`free-text\n${trackerId}\n${normalized}`)
    return `redacted_${hmac.digest('hex').slice(0, TOKEN_HEX_DIGITS)}`
  }
}
