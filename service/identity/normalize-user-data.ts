import {
  DROP_REASONS,
  type DroppedField,
  type DropReason,
  FIELD_VALUES_MAX,
  formatMemberPath,
  MEMBERS_MAX,
  recordDropped,
} from './dropped-fields.ts'
import {
  EMPTY_DIGEST,
  hashIdentifier,
  looksLikeUnsupportedHash,
  normalizeCountry,
  normalizeText,
  parseSuppliedDigest,
} from './identifier-formats.ts'
import {
  findUserDataKey,
  type HashedKey,
  type PlainKey,
  type UserDataKey,
} from './user-data-keys.ts'

export interface HashedFieldRule {
  /** Returns the exact text to hash, or null when the value cannot be made right. */
  normalize: (prepared: string, country: string | null) => string | null
  reason: DropReason
  /** These fields also take whole numbers; in the others a number is a mistake of the caller. */
  acceptsNumbers?: true
  /** An MD5, SHA-1 or SHA-512 may be a value of this field. In the others it matches no one. */
  acceptsOtherHashes?: true
}

export interface PlainFieldRule {
  /** Returns what is kept, or null when the value cannot be right. */
  normalize: (text: string) => string | null
  reason: DropReason
  /** Numeric IDs also come as JSON numbers; an address or a user agent never does. */
  acceptsNumbers?: true
}

/** The fields that a platform takes, one rule for each. What has no rule is left out silently. */
export interface FieldRules {
  hashed: Partial<Record<HashedKey, HashedFieldRule>>
  plain: Partial<Record<PlainKey, PlainFieldRule>>
}

/** A person as one platform may know them: nothing raw but what it takes unhashed. */
export interface PlatformIdentity {
  /** Key of the platform -> digests, without repeats and never the digest of "". */
  digests: Record<string, string[]>
  /** Key of the platform -> what travels unhashed: address, user agent, click and opaque IDs. */
  plain: Record<string, string>
}

export interface NormalizedIdentity extends PlatformIdentity {
  dropped: DroppedField[]
}

interface UserDataMember {
  name: string
  meaning: UserDataKey
  values: unknown[]
}

type ValueResult = { kept: string } | { reason: DropReason }

/** Longer than any real identifier. Unhashed values have limits of their own. */
const VALUE_CHARACTERS_MAX = 512

/**
 * Turns what a caller sent as `user_data` into what may be kept by the rules of a platform:
 * digests, the few values that it takes unhashed, and a record of what was left out and why. It
 * never throws and never loses the event: a bad value costs only itself. Names that are accepted:
 * user-data-keys.ts. Null members count as absent.
 */
export function normalizeUserData(
  userData: Record<string, unknown> | undefined,
  rules: FieldRules,
): NormalizedIdentity {
  const identity: NormalizedIdentity = { digests: {}, plain: {}, dropped: [] }
  const members = selectKnownMembers(userData, identity.dropped)
  const country = findCountry(members)
  for (const member of members) {
    const { name, values } = member
    for (let index = 0; index < values.length && index < FIELD_VALUES_MAX; index += 1) {
      const reason = addValue(identity, member, { value: values[index], country, rules })
      if (reason === null) continue
      const place = values.length > 1 ? `[${index}]` : ''
      recordDropped(identity.dropped, `user_data.${name}${place}`, reason)
    }
    if (values.length > FIELD_VALUES_MAX) {
      recordDropped(identity.dropped, `user_data.${name}`, DROP_REASONS.tooMany)
    }
  }
  return identity
}

function selectKnownMembers(userData: unknown, dropped: DroppedField[]): UserDataMember[] {
  if (typeof userData !== 'object' || userData === null || Array.isArray(userData)) return []
  const members: UserDataMember[] = []
  const names = Object.keys(userData)
  for (let index = 0; index < names.length && index < MEMBERS_MAX; index += 1) {
    const name = names[index] as string
    const value = (userData as Record<string, unknown>)[name]
    if (value === null || value === undefined) continue
    const meaning = findUserDataKey(name)
    if (meaning === null) {
      recordDropped(dropped, formatMemberPath('user_data', name), DROP_REASONS.unknown)
      continue
    }
    members.push({ name, meaning, values: Array.isArray(value) ? value : [value] })
  }
  if (names.length > MEMBERS_MAX) recordDropped(dropped, 'user_data', DROP_REASONS.tooManyMembers)
  return members
}

/** The country that gives national phone numbers and postal codes their meaning. */
function findCountry(members: UserDataMember[]): string | null {
  for (const { meaning, values } of members) {
    if (meaning.kind !== 'hashed' || meaning.key !== 'country') continue
    const [value] = values
    if (typeof value !== 'string' || value.length > VALUE_CHARACTERS_MAX) continue
    const country = normalizeCountry(normalizeText(value))
    if (country !== null) return country
  }
  return null
}

interface ValueInput {
  value: unknown
  country: string | null
  rules: FieldRules
}

/** Adds one value when it passes. Returns the reason when it does not. */
function addValue(
  identity: NormalizedIdentity,
  { meaning }: UserDataMember,
  input: ValueInput,
): DropReason | null {
  if (input.value === null || input.value === undefined) return null
  const result =
    meaning.kind === 'plain'
      ? normalizePlainValue(identity.plain, meaning, input)
      : hashValue(meaning, input)
  if (result === null) return null
  return 'reason' in result ? result.reason : storeValue(identity, meaning, result)
}

/** Null when the platform does not take the field. */
function normalizePlainValue(
  plain: NormalizedIdentity['plain'],
  { key }: UserDataKey & { kind: 'plain' },
  { value, rules }: ValueInput,
): ValueResult | null {
  const rule = rules.plain[key]
  if (!rule) return null
  if (plain[key] !== undefined) return { reason: DROP_REASONS.oneOnly }
  const text = toText(value, rule.acceptsNumbers)
  if (typeof text !== 'string') return text
  const kept = rule.normalize(text)
  return kept === null ? { reason: rule.reason } : { kept }
}

/** Null when the platform does not take the field. */
function hashValue(
  { key, digestOnly }: UserDataKey & { kind: 'hashed' },
  { value, country, rules }: ValueInput,
): ValueResult | null {
  const rule = rules.hashed[key]
  if (!rule) return null
  const text = toText(value, rule.acceptsNumbers)
  if (typeof text !== 'string') return text
  if (text.length > VALUE_CHARACTERS_MAX) return { reason: DROP_REASONS.tooLong }

  const supplied = parseSuppliedDigest(text)
  if (supplied === EMPTY_DIGEST) return { reason: DROP_REASONS.emptyDigest }
  if (supplied !== null) return { kept: supplied }
  if (digestOnly) return { reason: DROP_REASONS.digestOnly }

  const prepared = normalizeText(text)
  if (prepared === '') return { reason: DROP_REASONS.empty }
  if (!rule.acceptsOtherHashes && looksLikeUnsupportedHash(prepared)) {
    return { reason: DROP_REASONS.otherHash }
  }
  const normalized = rule.normalize(prepared, country)
  return normalized === null ? { reason: rule.reason } : { kept: hashIdentifier(normalized) }
}

function toText(value: unknown, acceptsNumbers = false): string | { reason: DropReason } {
  if (typeof value === 'string') return value
  if (typeof value !== 'number' || !acceptsNumbers) return { reason: DROP_REASONS.wrongKind }
  if (!Number.isSafeInteger(value) || value < 0) return { reason: DROP_REASONS.unsafeInteger }
  return String(value)
}

/** Adds what passed; two names of one field share its limit. Returns the reason when it is full. */
function storeValue(
  { digests, plain }: NormalizedIdentity,
  meaning: UserDataKey,
  { kept }: { kept: string },
): DropReason | null {
  if (meaning.kind === 'plain') {
    plain[meaning.key] = kept
    return null
  }
  const key: HashedKey = meaning.key
  const known = digests[key]
  if (known === undefined) digests[key] = [kept]
  else if (!known.includes(kept)) {
    if (known.length >= FIELD_VALUES_MAX) return DROP_REASONS.tooMany
    known.push(kept)
  }
  return null
}
