import { hash } from 'node:crypto'
import type { DropReason } from './dropped-fields.ts'
import {
  EMPTY_DIGEST,
  GUEST_IDS,
  PLACEHOLDER_SPELLINGS,
  UNFILLED_SPELLINGS,
  ZERO_DIGEST,
} from './identifier-formats.ts'
import type { HashedKey, PlainKey, UserDataKey } from './user-data-keys.ts'

/** What a rule may know of the event besides the value. */
export interface FieldContext extends EventTimes {
  /** Of the same address, else of `user_data`. It gives phones, states and postal codes meaning. */
  country: string | null
  /** Versions before lookup digests could not read this country. */
  isNewlyRead?: true
}

/** When the event happened, as the caller says, and when it was received. */
export interface EventTimes {
  eventTime: Date
  observedAt: Date
}

/** What is kept, or null for the reason of the rule, or a reason of its own. */
export type FieldResult = string | null | { reason: DropReason }

export interface HashedFieldRule {
  /** Returns the exact text to hash, unless the value cannot be made right. */
  normalize: (prepared: string, context: FieldContext) => FieldResult
  reason: DropReason
  /** These fields also take whole numbers; in the others a number is a mistake of the caller. */
  acceptsNumbers?: true
  /** The form that callers digest is another one, so their digests would match no one. */
  takesNoDigests?: true
  /**
   * An ID of the caller, which is hashed as written but for its case. An MD5, SHA-1 or SHA-512 may
   * be one. In the other fields such a hash matches no one.
   */
  isCallerId?: true
  /** The case of the value is a part of it, for an ID of the caller. */
  keepsCase?: true
}

export interface PlainFieldRule {
  /** Returns what is kept, unless the value cannot be right. */
  normalize: (text: string, context: FieldContext) => FieldResult
  reason: DropReason
  /** Numeric IDs also come as JSON numbers; an address or a user agent never does. */
  acceptsNumbers?: true
}

/** The fields that a platform takes, one rule for each. What has no rule is left out silently. */
export interface FieldRules {
  hashed: Partial<Record<HashedKey, HashedFieldRule>>
  plain: Partial<Record<PlainKey, PlainFieldRule>>
}

export function hasRule({ hashed, plain }: FieldRules, meaning: UserDataKey): boolean {
  return (meaning.kind === 'plain' ? plain[meaning.key] : hashed[meaning.key]) !== undefined
}

const listDigests = (texts: readonly string[]) => texts.map(text => hash('sha256', text, 'hex'))

const PLACEHOLDER_DIGESTS = new Set([...listDigests(PLACEHOLDER_SPELLINGS), ZERO_DIGEST])
const GUEST_DIGESTS = new Set(listDigests(GUEST_IDS))
const UNFILLED_DIGESTS = new Set([...listDigests(UNFILLED_SPELLINGS), ZERO_DIGEST])

/** Whether this is the digest of a placeholder, which a caller hashed before sending. */
export function isPlaceholderDigest(digest: string): boolean {
  return PLACEHOLDER_DIGESTS.has(digest)
}

/** The same for the ID of an order or a product, which may be 0. */
export function isUnfilledIdDigest(digest: string): boolean {
  return digest === EMPTY_DIGEST || (isPlaceholderDigest(digest) && !GUEST_DIGESTS.has(digest))
}

/** The same for a name or a place: Null is a family name, and identifies no one alone. */
export function isUnfilledDigest(digest: string): boolean {
  return UNFILLED_DIGESTS.has(digest)
}
