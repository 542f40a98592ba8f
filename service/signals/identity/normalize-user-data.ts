import { parsePublicAddress } from '../../runtime/util/ip-address.ts'
import {
  DROP_REASONS,
  type DroppedField,
  type DropReason,
  FIELD_VALUES_MAX,
  recordDropped,
} from './dropped-fields.ts'
import type {
  EventTimes,
  FieldContext,
  FieldResult,
  FieldRules,
  HashedFieldRule,
} from './field-rules.ts'
import { hasRule, isPlaceholderDigest, isUnfilledDigest } from './field-rules.ts'
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
import { normalizePostalCode } from './normalize-postal-code.ts'
import {
  findReading,
  findResult,
  hashIdentifier,
  keepResult,
  type PreparedValue,
  readUserData,
  type ValueReading,
  type ValueResult,
} from './shared-readings.ts'
import { findSubdivisionCode } from './subdivisions.ts'
import type { HashedKey, UserDataKey } from './user-data-keys.ts'
import { type UserDataMember, VALUE_CHARACTERS_MAX } from './user-data-members.ts'

export { hashIdentifier, readUserData }

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
  const { members, contextOf, dropped, readings } = readUserData(userData, times)
  const identity: NormalizedIdentity = { digests: {}, plain: {}, dropped }
  for (let place = 0; place < members.length; place += 1) {
    const member = members[place] as UserDataMember
    const { path, values, address, meaning } = member
    const context = contextOf(address)
    const count = hasRule(rules, meaning) ? Math.min(values.length, FIELD_VALUES_MAX) : 0
    for (let index = 0; index < count; index += 1) {
      const reading = readings && findReading(readings, place * FIELD_VALUES_MAX + index)
      const reason = addValue(identity, member, { value: values[index], context, rules, reading })
      if (reason === null) continue
      const position = values.length > 1 ? `[${index}]` : ''
      recordDropped(identity.dropped, `${path}${position}`, reason)
    }
    if (values.length > FIELD_VALUES_MAX) {
      recordDropped(identity.dropped, path, DROP_REASONS.tooMany)
    }
  }
  return identity
}

interface ValueInput {
  value: unknown
  context: FieldContext
  rules: FieldRules
  /** What the rules of other platforms have made of this value; null outside shared readings. */
  reading: ValueReading | null
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
  { value, context, rules, reading }: ValueInput,
): ValueResult | null {
  const rule = rules.plain[key]
  if (!rule) return null
  if (plain[key] !== undefined) return { reason: DROP_REASONS.oneOnly }
  const known = findResult(rule, reading)
  if (known !== undefined) return known
  const text = toText(value, rule.acceptsNumbers)
  const kept = typeof text === 'string' ? rule.normalize(text, context) : text
  return keepResult(rule, reading, toResult(kept, rule.reason))
}

/** Null when the platform does not take the field. */
function hashValue(
  meaning: UserDataKey & { kind: 'hashed' },
  { value, context, rules, reading }: ValueInput,
): ValueResult | null {
  const rule = rules.hashed[meaning.key]
  if (!rule) return null
  const known = findResult(rule, reading)
  if (known !== undefined) return known
  const text = toText(value, rule.acceptsNumbers)
  const result =
    typeof text === 'string' ? hashText(meaning, text, { rule, context, reading }) : text
  return keepResult(rule, reading, result)
}

function hashText(
  meaning: UserDataKey & { kind: 'hashed' },
  text: string,
  { rule, context, reading }: Omit<ValueInput, 'value' | 'rules'> & { rule: HashedFieldRule },
): ValueResult {
  const preparation = rule.isCallerId ? 'callerId' : 'identifier'
  const ready = reading?.[preparation] ?? prepareText(meaning, text, rule.isCallerId)
  if (reading !== null) reading[preparation] = ready
  if ('reason' in ready) return ready
  if ('supplied' in ready) {
    if (rule.takesNoDigests) return { reason: DROP_REASONS.digestOfAnotherForm }
    return { kept: ready.supplied }
  }
  const given = rule.keepsCase ? prepareCallerIdInCase(text) : ready.prepared
  const normalized = rule.normalize(given, context)
  const result = toResult(normalized, rule.reason)
  return 'kept' in result ? { kept: hashIdentifier(result.kept) } : result
}

function toResult(result: FieldResult, reason: DropReason): ValueResult {
  if (result === null) return { reason }
  return typeof result === 'string' ? { kept: result } : result
}

const IDENTIFIER_KEYS: ReadonlySet<HashedKey> = new Set(['em', 'ph', 'external_id', 'app_user_id'])

/** What comes before the rule of a platform: a digest of the caller, or text for the rule. */
function prepareText(
  { key, digestOnly, isForeignDigest }: UserDataKey & { kind: 'hashed' },
  text: string,
  isCallerId = false,
): PreparedValue {
  if (text.length > VALUE_CHARACTERS_MAX) return { reason: DROP_REASONS.tooLong }
  const isIdentifier = IDENTIFIER_KEYS.has(key)
  const supplied = parseSuppliedDigest(text)
  if (supplied === EMPTY_DIGEST) return { reason: DROP_REASONS.emptyDigest }
  if (supplied !== null && (isIdentifier ? isPlaceholderDigest : isUnfilledDigest)(supplied)) {
    return { reason: DROP_REASONS.placeholder }
  }
  if (supplied !== null && isForeignDigest) return { reason: DROP_REASONS.foreignDigest }
  if (supplied !== null) return { supplied }
  if (digestOnly) return { reason: DROP_REASONS.digestOnly }

  const prepared = isCallerId ? prepareCallerId(text) : normalizeIdentifier(text)
  if (prepared === '') return { reason: DROP_REASONS.empty }
  if ((isIdentifier ? isPlaceholder : isUnfilled)(prepared)) {
    return { reason: DROP_REASONS.placeholder }
  }
  if (!isCallerId && looksLikeUnsupportedHash(prepared)) return { reason: DROP_REASONS.otherHash }
  return { prepared }
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

/**
 * Forms of the same fields that some platforms have. Each is one rule, so that platforms which take
 * it share its result. A caller's digest has no +.
 */
export const OTHER_HASHED_RULES = {
  ph: {
    normalize: (prepared, { country }) => {
      const digits = normalizePhone(prepared, country)
      return digits === null ? null : `+${digits}`
    },
    reason: DROP_REASONS.phone,
    acceptsNumbers: true,
    takesNoDigests: true,
  },
  st: { normalize: normalizeState, reason: DROP_REASONS.place },
  zp: { normalize: normalizePostalCode, reason: DROP_REASONS.postalCode, acceptsNumbers: true },
  external_id: { ...COMMON_HASHED_RULES.external_id, keepsCase: true },
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

/** The code of a state that its country has; else its name. */
function normalizeState(prepared: string, { country }: FieldContext): string | null {
  const place = normalizePlace(prepared)
  return place === null ? null : (findSubdivisionCode(prepared, country) ?? place)
}

const USER_AGENT_CHARACTERS_MAX = 1_024
const USER_AGENT_INPUT_CHARACTERS_MAX = 8_192

/** Verbatim but for what a database or a header cannot carry: controls and broken surrogates. */
function cleanUserAgent(text: string): string | null {
  const given = text.slice(0, USER_AGENT_INPUT_CHARACTERS_MAX)
  if (/^[ -~]*$/.test(given)) return given.trim().slice(0, USER_AGENT_CHARACTERS_MAX) || null
  const readable = given.replace(/\p{Cc}+/gu, '').trim()
  const kept = readable.slice(0, USER_AGENT_CHARACTERS_MAX)
  // The cut may part a surrogate pair; half of one is no text.
  return kept.replace(/\p{Cs}+/gu, '') || null
}
