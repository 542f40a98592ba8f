import type { Dropped, Reason } from './dropped.ts'
import { memberPath, membersMax, REASONS, recordDropped, valuesMax } from './dropped.ts'
import type { HashedKey } from './field-rules.ts'
import { FIELD_RULES, isOtherHash } from './field-rules.ts'
import { EMPTY_DIGEST, identifierDigest, suppliedDigest } from './identifier-digest.ts'
import { PLAIN_RULES } from './plain-rules.ts'
import { preparedText } from './prepared-text.ts'
import type { UserDataKey } from './user-data-keys.ts'
import { userDataKey } from './user-data-keys.ts'

export interface NormalizedIdentity {
  /** Wire key -> lower-case SHA-256 digests, without repeats and never the digest of "". */
  digests: Record<string, string[]>
  /** Wire key -> what may travel unhashed: address, user agent, fbc, fbp and opaque ids. */
  plain: Record<string, string>
  dropped: Dropped[]
}

interface Member {
  name: string
  meaning: UserDataKey
  values: unknown[]
}

type Judgement = { kept: string } | { reason: Reason }

/** Longer than any true identifier. What travels unhashed is bounded by its own rule. */
const valueCharsMax = 512

/**
 * Turns what a caller sent as `user_data` into what may be kept: digests by Meta's written rules
 * (FIELD_RULES), the few unhashed values that Meta asks for (PLAIN_RULES), and a record of what
 * was left out and why. It never throws and never loses the event: a bad value costs only
 * itself. Names that are accepted: user-data-keys.ts. Null members count as absent.
 *
 * Source: decisions section 4; Meta, Customer Information Parameters.
 */
export function normalizeUserData(
  userData: Record<string, unknown> | undefined,
): NormalizedIdentity {
  const identity: NormalizedIdentity = { digests: {}, plain: {}, dropped: [] }
  const members = knownMembers(userData, identity.dropped)
  const country = statedCountry(members)
  for (const member of members) {
    const { name, values } = member
    for (let index = 0; index < values.length && index < valuesMax; index += 1) {
      const reason = takeValue(identity, member, { value: values[index], country })
      if (reason === null) continue
      const place = values.length > 1 ? `[${index}]` : ''
      recordDropped(identity.dropped, `user_data.${name}${place}`, reason)
    }
    if (values.length > valuesMax) {
      recordDropped(identity.dropped, `user_data.${name}`, REASONS.tooMany)
    }
  }
  return identity
}

function knownMembers(userData: unknown, dropped: Dropped[]): Member[] {
  if (typeof userData !== 'object' || userData === null || Array.isArray(userData)) return []
  const members: Member[] = []
  const names = Object.keys(userData)
  for (let index = 0; index < names.length && index < membersMax; index += 1) {
    const name = names[index] as string
    const value = (userData as Record<string, unknown>)[name]
    if (value === null || value === undefined) continue
    const meaning = userDataKey(name)
    if (meaning === null) {
      recordDropped(dropped, memberPath('user_data', name), REASONS.unknown)
      continue
    }
    members.push({ name, meaning, values: Array.isArray(value) ? value : [value] })
  }
  if (names.length > membersMax) recordDropped(dropped, 'user_data', REASONS.tooManyMembers)
  return members
}

/** The country that gives national phone numbers and postal codes their meaning. */
function statedCountry(members: Member[]): string | null {
  for (const { meaning, values } of members) {
    if (meaning.kind !== 'hashed' || meaning.key !== 'country') continue
    const [value] = values
    if (typeof value !== 'string' || value.length > valueCharsMax) continue
    const country = FIELD_RULES.country.normalize(preparedText(value), null)
    if (country !== null) return country
  }
  return null
}

/** Judges one value and files it when it passes. Returns why not, when it does not. */
function takeValue(
  identity: NormalizedIdentity,
  { meaning }: Member,
  { value, country }: { value: unknown; country: string | null },
): Reason | null {
  if (value === null || value === undefined) return null
  const judgement =
    meaning.kind === 'plain'
      ? judgePlain(identity.plain, meaning, value)
      : judgeHashed(meaning, value, country)
  return 'reason' in judgement ? judgement.reason : keep(identity, meaning, judgement)
}

function judgePlain(
  plain: NormalizedIdentity['plain'],
  { key }: UserDataKey & { kind: 'plain' },
  value: unknown,
): Judgement {
  const { accept, reason, takesNumbers = false } = PLAIN_RULES[key]
  if (plain[key] !== undefined) return { reason: REASONS.oneOnly }
  const text = textOf(value, takesNumbers)
  if (typeof text !== 'string') return text
  const kept = accept(text)
  return kept === null ? { reason } : { kept }
}

function judgeHashed(
  { key, digestOnly }: UserDataKey & { kind: 'hashed' },
  value: unknown,
  country: string | null,
): Judgement {
  const { normalize, reason, takesNumbers = false } = FIELD_RULES[key]
  const text = textOf(value, takesNumbers)
  if (typeof text !== 'string') return text
  if (text.length > valueCharsMax) return { reason: REASONS.tooLong }

  const supplied = suppliedDigest(text)
  if (supplied === EMPTY_DIGEST) return { reason: REASONS.emptyDigest }
  if (supplied !== null) return { kept: supplied }
  if (digestOnly) return { reason: REASONS.digestOnly }

  const prepared = preparedText(text)
  if (prepared === '') return { reason: REASONS.empty }
  if (isOtherHash(key, prepared)) return { reason: REASONS.otherHash }
  const normalized = normalize(prepared, country)
  return normalized === null ? { reason } : { kept: identifierDigest(normalized) }
}

function textOf(value: unknown, takesNumbers: boolean): string | { reason: Reason } {
  if (typeof value === 'string') return value
  if (typeof value !== 'number' || !takesNumbers) return { reason: REASONS.wrongKind }
  if (!Number.isSafeInteger(value) || value < 0) return { reason: REASONS.unsafeInteger }
  return String(value)
}

/** Files what passed; two names of one field share its limit. Returns why not, when it does not. */
function keep(
  { digests, plain }: NormalizedIdentity,
  meaning: UserDataKey,
  { kept }: { kept: string },
): Reason | null {
  if (meaning.kind === 'plain') {
    plain[meaning.key] = kept
    return null
  }
  const key: HashedKey = meaning.key
  const known = digests[key]
  if (known === undefined) digests[key] = [kept]
  else if (!known.includes(kept)) {
    if (known.length >= valuesMax) return REASONS.tooMany
    known.push(kept)
  }
  return null
}
