import type { DropReason } from './dropped-fields.ts'
import type { HashedKey, PlainKey } from './user-data-keys.ts'

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
  /**
   * An ID of the caller, which is hashed as written but for its case. An MD5, SHA-1 or SHA-512 may
   * be one. In the other fields such a hash matches no one.
   */
  isCallerId?: true
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
