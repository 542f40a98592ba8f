import {
  DROP_REASONS,
  type DroppedField,
  type DropReason,
  FIELD_VALUES_MAX,
  formatMemberPath,
  MEMBERS_MAX,
  recordDropped,
} from './dropped-fields.ts'
import { HASHED_FIELD_RULES, type HashedKey, isUnsupportedHash } from './hashed-fields.ts'
import {
  EMPTY_DIGEST,
  hashIdentifier,
  normalizeText,
  parseSuppliedDigest,
} from './identifier-digest.ts'
import { PLAIN_FIELD_RULES } from './plain-fields.ts'
import { findUserDataKey, type UserDataKey } from './user-data-keys.ts'

export interface NormalizedIdentity {
  /** Wire key -> lower-case SHA-256 digests, without repeats and never the digest of "". */
  digests: Record<string, string[]>
  /** Wire key -> what may travel unhashed: address, user agent, fbc, fbp and opaque ids. */
  plain: Record<string, string>
  dropped: DroppedField[]
}

interface UserDataMember {
  name: string
  meaning: UserDataKey
  values: unknown[]
}

type ValueResult = { kept: string } | { reason: DropReason }

/** Longer than any true identifier. What travels unhashed is bounded by its own rule. */
const VALUE_CHARACTERS_MAX = 512

/**
 * Turns what a caller sent as `user_data` into what may be kept: digests by Meta's written rules
 * (HASHED_FIELD_RULES), the few unhashed values that Meta asks for (PLAIN_FIELD_RULES), and a record of what
 * was left out and why. It never throws and never loses the event: a bad value costs only
 * itself. Names that are accepted: user-data-keys.ts. Null members count as absent.
 *
 * Source: decisions section 4; Meta, Customer Information Parameters.
 */
export function normalizeUserData(
  userData: Record<string, unknown> | undefined,
): NormalizedIdentity {
  const identity: NormalizedIdentity = { digests: {}, plain: {}, dropped: [] }
  const members = selectKnownMembers(userData, identity.dropped)
  const country = findCountry(members)
  for (const member of members) {
    const { name, values } = member
    for (let index = 0; index < values.length && index < FIELD_VALUES_MAX; index += 1) {
      const reason = addValue(identity, member, { value: values[index], country })
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
    const country = HASHED_FIELD_RULES.country.normalize(normalizeText(value), null)
    if (country !== null) return country
  }
  return null
}

/** Judges one value and files it when it passes. Returns why not, when it does not. */
function addValue(
  identity: NormalizedIdentity,
  { meaning }: UserDataMember,
  { value, country }: { value: unknown; country: string | null },
): DropReason | null {
  if (value === null || value === undefined) return null
  const judgement =
    meaning.kind === 'plain'
      ? normalizePlainValue(identity.plain, meaning, value)
      : hashValue(meaning, value, country)
  return 'reason' in judgement ? judgement.reason : storeValue(identity, meaning, judgement)
}

function normalizePlainValue(
  plain: NormalizedIdentity['plain'],
  { key }: UserDataKey & { kind: 'plain' },
  value: unknown,
): ValueResult {
  const { normalize: accept, reason, acceptsNumbers: takesNumbers = false } = PLAIN_FIELD_RULES[key]
  if (plain[key] !== undefined) return { reason: DROP_REASONS.oneOnly }
  const text = toText(value, takesNumbers)
  if (typeof text !== 'string') return text
  const kept = accept(text)
  return kept === null ? { reason } : { kept }
}

function hashValue(
  { key, digestOnly }: UserDataKey & { kind: 'hashed' },
  value: unknown,
  country: string | null,
): ValueResult {
  const { normalize, reason, acceptsNumbers: takesNumbers = false } = HASHED_FIELD_RULES[key]
  const text = toText(value, takesNumbers)
  if (typeof text !== 'string') return text
  if (text.length > VALUE_CHARACTERS_MAX) return { reason: DROP_REASONS.tooLong }

  const supplied = parseSuppliedDigest(text)
  if (supplied === EMPTY_DIGEST) return { reason: DROP_REASONS.emptyDigest }
  if (supplied !== null) return { kept: supplied }
  if (digestOnly) return { reason: DROP_REASONS.digestOnly }

  const prepared = normalizeText(text)
  if (prepared === '') return { reason: DROP_REASONS.empty }
  if (isUnsupportedHash(key, prepared)) return { reason: DROP_REASONS.otherHash }
  const normalized = normalize(prepared, country)
  return normalized === null ? { reason } : { kept: hashIdentifier(normalized) }
}

function toText(value: unknown, takesNumbers: boolean): string | { reason: DropReason } {
  if (typeof value === 'string') return value
  if (typeof value !== 'number' || !takesNumbers) return { reason: DROP_REASONS.wrongKind }
  if (!Number.isSafeInteger(value) || value < 0) return { reason: DROP_REASONS.unsafeInteger }
  return String(value)
}

/** Files what passed; two names of one field share its limit. Returns why not, when it does not. */
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
