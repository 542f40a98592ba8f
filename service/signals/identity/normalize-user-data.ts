import { hash } from 'node:crypto'
import { parsePublicAddress } from '../../runtime/util/ip-address.ts'
import {
  DROP_REASONS,
  type DroppedField,
  type DropReason,
  FIELD_VALUES_MAX,
  recordDropped,
} from './dropped-fields.ts'
import type { EventTimes, FieldContext, FieldRules } from './field-rules.ts'
import { isPlaceholderDigest, isUnfilledDigest } from './field-rules.ts'
import {
  EMPTY_DIGEST,
  isPlaceholder,
  isUnfilled,
  looksLikeUnsupportedHash,
  normalizeCallerId,
  normalizeEmail,
  normalizeIdentifier,
  parseSuppliedDigest,
  prepareCallerId,
  prepareCallerIdInCase,
} from './identifier-formats.ts'
import { normalizeCountry } from './normalize-country.ts'
import { normalizeBirthDate, normalizeGender } from './normalize-demographics.ts'
import { normalizePhone } from './normalize-phone.ts'
import type { HashedKey, UserDataKey } from './user-data-keys.ts'
import {
  createContexts,
  selectKnownMembers,
  type UserDataMember,
  VALUE_CHARACTERS_MAX,
} from './user-data-members.ts'

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

type ValueResult = { kept: string } | { reason: DropReason }

/**
 * Turns what a caller sent as `user_data` into what may be kept by the rules of a platform:
 * digests, the few values that it takes unhashed, and a record of what was left out and why. It
 * never throws and never loses the event: a bad value costs only itself. Names that are accepted:
 * user-data-keys.ts. Null members count as absent.
 */
export function normalizeUserData(
  userData: Record<string, unknown> | undefined,
  { rules, times }: { rules: FieldRules; times: EventTimes },
): NormalizedIdentity {
  const { members, contextOf, dropped } = readUserData(userData, times)
  const identity: NormalizedIdentity = { digests: {}, plain: {}, dropped }
  for (const member of members) {
    const { path, values, address } = member
    const context = contextOf(address)
    for (let index = 0; index < values.length && index < FIELD_VALUES_MAX; index += 1) {
      const reason = addValue(identity, member, { value: values[index], context, rules })
      if (reason === null) continue
      const place = values.length > 1 ? `[${index}]` : ''
      recordDropped(identity.dropped, `${path}${place}`, reason)
    }
    if (values.length > FIELD_VALUES_MAX) {
      recordDropped(identity.dropped, path, DROP_REASONS.tooMany)
    }
  }
  return identity
}

interface ReadUserData {
  members: UserDataMember[]
  /** What else is known of a value, by the address that it is part of. */
  contextOf: (address: UserDataMember['address']) => FieldContext
  /** Members whose names are not known. */
  dropped: DroppedField[]
}

/** What the rules of all platforms share while one event is accepted. */
interface SharedReadings {
  /** Normalized identifier -> digest. */
  digests: Map<string, string>
  /** The last `user_data` that was read; its times are those of the event. */
  last: { userData: unknown; times: EventTimes; read: ReadUserData } | null
}

let shared: SharedReadings | null = null

/**
 * Runs `work`, in which one `user_data` is read once and equal normal forms are hashed once,
 * however many platforms and lookups need them. It is synchronous, and nothing raw is kept.
 */
export function withSharedReadings<Result>(work: () => Result): Result {
  const outer = shared
  shared = { digests: new Map(), last: null }
  try {
    return work()
  } finally {
    shared = outer
  }
}

/** The known members of `user_data`, before any value is read. */
export function readUserData(
  userData: Record<string, unknown> | undefined,
  times: EventTimes,
): ReadUserData {
  const last = shared?.last
  if (last && last.userData === userData && hasSameTimes(last.times, times)) {
    return { ...last.read, dropped: [...last.read.dropped] }
  }
  const dropped: DroppedField[] = []
  const members = selectKnownMembers(userData, dropped)
  const read = { members, contextOf: createContexts(members, times), dropped }
  if (shared === null) return read
  const { eventTime, observedAt } = times
  shared.last = { userData, times: { eventTime, observedAt }, read }
  return { ...read, dropped: [...dropped] }
}

function hasSameTimes(one: EventTimes, other: EventTimes): boolean {
  return one.eventTime === other.eventTime && one.observedAt === other.observedAt
}

interface ValueInput {
  value: unknown
  context: FieldContext
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
  { value, context, rules }: ValueInput,
): ValueResult | null {
  const rule = rules.plain[key]
  if (!rule) return null
  if (plain[key] !== undefined) return { reason: DROP_REASONS.oneOnly }
  const text = toText(value, rule.acceptsNumbers)
  if (typeof text !== 'string') return text
  const kept = rule.normalize(text, context)
  if (kept === null) return { reason: rule.reason }
  return typeof kept === 'string' ? { kept } : kept
}

const IDENTIFIER_KEYS: ReadonlySet<HashedKey> = new Set(['em', 'ph', 'external_id', 'app_user_id'])

/** Null when the platform does not take the field. */
function hashValue(
  { key, digestOnly, isForeignDigest }: UserDataKey & { kind: 'hashed' },
  { value, context, rules }: ValueInput,
): ValueResult | null {
  const rule = rules.hashed[key]
  if (!rule) return null
  const text = toText(value, rule.acceptsNumbers)
  if (typeof text !== 'string') return text
  if (text.length > VALUE_CHARACTERS_MAX) return { reason: DROP_REASONS.tooLong }

  const isIdentifier = IDENTIFIER_KEYS.has(key)
  const supplied = parseSuppliedDigest(text)
  if (supplied === EMPTY_DIGEST) return { reason: DROP_REASONS.emptyDigest }
  if (supplied !== null && (isIdentifier ? isPlaceholderDigest : isUnfilledDigest)(supplied)) {
    return { reason: DROP_REASONS.placeholder }
  }
  if (supplied !== null && isForeignDigest) return { reason: DROP_REASONS.foreignDigest }
  if (supplied !== null && rule.takesNoDigests) return { reason: DROP_REASONS.digestOfAnotherForm }
  if (supplied !== null) return { kept: supplied }
  if (digestOnly) return { reason: DROP_REASONS.digestOnly }

  const prepared = rule.isCallerId ? prepareCallerId(text) : normalizeIdentifier(text)
  if (prepared === '') return { reason: DROP_REASONS.empty }
  if ((isIdentifier ? isPlaceholder : isUnfilled)(prepared)) {
    return { reason: DROP_REASONS.placeholder }
  }
  if (!rule.isCallerId && looksLikeUnsupportedHash(prepared)) {
    return { reason: DROP_REASONS.otherHash }
  }
  const given = rule.keepsCase ? prepareCallerIdInCase(text) : prepared
  const normalized = rule.normalize(given, context)
  if (normalized === null) return { reason: rule.reason }
  return typeof normalized === 'string' ? { kept: hashIdentifier(normalized) } : normalized
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

/** SHA-256 of a normalized identifier, as 64 lower-case hexadecimal digits. */
export function hashIdentifier(normalized: string): string {
  const known = shared?.digests.get(normalized)
  if (known !== undefined) return known
  const digest = hash('sha256', normalized, 'hex')
  shared?.digests.set(normalized, digest)
  return digest
}

/** The rules that platforms share. A platform names those that it takes, beside its own. */
export const COMMON_HASHED_RULES = {
  em: { normalize: normalizeEmail, reason: DROP_REASONS.email },
  ph: {
    normalize: (prepared, { country }) => normalizePhone(prepared, country),
    reason: DROP_REASONS.phone,
    acceptsNumbers: true,
  },
  fn: { normalize: normalizeName, reason: DROP_REASONS.name },
  ln: { normalize: normalizeName, reason: DROP_REASONS.name },
  ge: { normalize: normalizeGender, reason: DROP_REASONS.gender },
  db: { normalize: normalizeBirthDate, reason: DROP_REASONS.birthDate, acceptsNumbers: true },
  ct: { normalize: normalizePlace, reason: DROP_REASONS.place },
  country: { normalize: normalizeCountry, reason: DROP_REASONS.country },
  external_id: {
    normalize: normalizeCallerId,
    reason: DROP_REASONS.placeholder,
    acceptsNumbers: true,
    isCallerId: true,
  },
} satisfies FieldRules['hashed']

/** The same for what is sent as it is. */
export const COMMON_PLAIN_RULES = {
  client_ip_address: { normalize: parsePublicAddress, reason: DROP_REASONS.address },
  client_user_agent: { normalize: cleanUserAgent, reason: DROP_REASONS.empty },
} satisfies FieldRules['plain']

export function normalizeName(prepared: string): string | null {
  const name = prepared.replace(/[^\p{L}\p{M}\p{N}]+/gu, '')
  return /\p{L}/u.test(name) ? name : null
}

/** Digits go too: a city or state that carries some is followed by a postal code ("TX 75001"). */
export function normalizePlace(prepared: string): string | null {
  const place = prepared.replace(/[^\p{L}\p{M}]+/gu, '')
  return /\p{L}/u.test(place) ? place : null
}

const USER_AGENT_CHARACTERS_MAX = 1_024
const USER_AGENT_INPUT_CHARACTERS_MAX = 8_192

/** Verbatim but for what a database or a header cannot carry: controls and broken surrogates. */
function cleanUserAgent(text: string): string | null {
  const readable = text
    .slice(0, USER_AGENT_INPUT_CHARACTERS_MAX)
    .replace(/\p{Cc}+/gu, '')
    .trim()
  const kept = readable.slice(0, USER_AGENT_CHARACTERS_MAX)
  // The cut may part a surrogate pair; half of one is no text.
  return kept.replace(/\p{Cs}+/gu, '') || null
}
