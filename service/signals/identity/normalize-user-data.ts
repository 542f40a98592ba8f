import { hash } from 'node:crypto'
import { isObject } from '../../runtime/util/is-object.ts'
import {
  DROP_REASONS,
  type DroppedField,
  type DropReason,
  FIELD_VALUES_MAX,
  formatMemberPath,
  MEMBERS_MAX,
  recordDropped,
} from './dropped-fields.ts'
import type { EventTimes, FieldContext, FieldRules } from './field-rules.ts'
import { isPlaceholderDigest, isUnfilledDigest } from './field-rules.ts'
import {
  EMPTY_DIGEST,
  isPlaceholder,
  isUnfilled,
  looksLikeUnsupportedHash,
  normalizeIdentifier,
  normalizeVisible,
  parseSuppliedDigest,
  prepareCallerId,
} from './identifier-formats.ts'
import { normalizeCountry, normalizeExactCountry } from './normalize-country.ts'
import {
  findAddressKey,
  findMemberKey,
  findRefusalReason,
  type HashedKey,
  isAddressName,
  listAddresses,
  type UserDataKey,
} from './user-data-keys.ts'

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

export interface UserDataMember {
  /** Dotted, as in `user_data.address.city`. */
  path: string
  meaning: UserDataKey
  values: unknown[]
  /** Members of one address share it; those of `user_data` itself have none. */
  address: Record<string, unknown> | null
}

type ValueResult = { kept: string } | { reason: DropReason }

/** Longer than any real identifier. Unhashed values have limits of their own. */
export const VALUE_CHARACTERS_MAX = 512

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
 * Runs `work`, in which one `user_data` is read once and equal normal forms are hashed once, however
 * many platforms and lookups need them. It is synchronous, and nothing raw is kept afterwards.
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

function selectKnownMembers(userData: unknown, dropped: DroppedField[]): UserDataMember[] {
  if (!isObject(userData)) return []
  const members: UserDataMember[] = []
  const names = Object.keys(userData)
  for (let index = 0; index < names.length && index < MEMBERS_MAX; index += 1) {
    const name = names[index] as string
    const value = userData[name]
    if (value === null || value === undefined) continue
    const meaning = findMemberKey(name, value)
    if (meaning !== null) {
      const values = Array.isArray(value) ? value : [value]
      members.push({ path: `user_data.${name}`, meaning, values, address: null })
    } else if (isAddressName(name)) addAddressMembers(members, { name, value, dropped })
    else recordDropped(dropped, formatMemberPath('user_data', name), findRefusalReason(name))
  }
  if (names.length > MEMBERS_MAX) recordDropped(dropped, 'user_data', DROP_REASONS.tooManyMembers)
  return members
}

/** The members of postal addresses, which mean what they mean in `user_data` itself. */
function addAddressMembers(
  members: UserDataMember[],
  { name, value, dropped }: { name: string; value: unknown; dropped: DroppedField[] },
): void {
  const path = `user_data.${name}`
  const addresses = listAddresses(value)
  if (addresses.length === 0) recordDropped(dropped, path, DROP_REASONS.wrongKind)
  for (const address of addresses) {
    for (const [part, partValue] of Object.entries(address).slice(0, MEMBERS_MAX)) {
      if (partValue === null || partValue === undefined) continue
      const meaning = findAddressKey(part)
      const values: unknown[] = Array.isArray(partValue) ? partValue : [partValue]
      if (meaning !== null) members.push({ path: `${path}.${part}`, meaning, values, address })
      else recordDropped(dropped, formatMemberPath(path, part), DROP_REASONS.unknown)
    }
  }
}

/** Each address has its own country, else the first country that is named anywhere. */
function createContexts(
  members: UserDataMember[],
  { eventTime, observedAt }: EventTimes,
): (address: UserDataMember['address']) => FieldContext {
  const usual: FieldContext = { eventTime, observedAt, country: null }
  const byAddress = new Map<UserDataMember['address'], FieldContext>()
  for (const member of members) {
    const found = readCountry(member)
    if (found === null) continue
    if (usual.country === null) Object.assign(usual, found)
    if (byAddress.has(member.address)) continue
    byAddress.set(member.address, { eventTime, observedAt, ...found })
  }
  return address => byAddress.get(address) ?? usual
}

type ReadCountry = Pick<FieldContext, 'country' | 'isNewlyRead'>

function readCountry({ meaning, values }: UserDataMember): ReadCountry | null {
  if (meaning.key !== 'country') return null
  const [value] = values
  if (typeof value !== 'string' || value.length > VALUE_CHARACTERS_MAX) return null
  const prepared = normalizeIdentifier(value)
  const country = normalizeCountry(prepared)
  if (country === null) return null
  return normalizeExactCountry(normalizeVisible(value)) === country
    ? { country }
    : { country, isNewlyRead: true }
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
  const normalized = rule.normalize(prepared, context)
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
