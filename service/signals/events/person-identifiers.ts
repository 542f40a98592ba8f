import { createHmac, type KeyObject } from 'node:crypto'
import { type EventTimes, isPlaceholderDigest } from '../identity/field-rules.ts'
import {
  decodePercentEncoding,
  decodeText,
  EMPTY_DIGEST,
  isInternationalPhone,
  isPlaceholder,
  normalizeText,
  normalizeVisible,
  parseSuppliedDigest,
  prepareCallerId,
  removeInvisible,
} from '../identity/identifier-formats.ts'
import { computeLookupDigests, type LookupDigests } from '../identity/lookup-digests.ts'
import {
  LOOKUP_KEYS,
  type LookupKey,
  listCallerIdForms,
  listLookupForms,
} from '../identity/lookup-forms.ts'
import { normalizePhone } from '../identity/normalize-phone.ts'
import { hashIdentifier } from '../identity/normalize-user-data.ts'

/** The identifiers of a person in an event. */
export interface PersonIdentifiers {
  visitorId: string | null
  /** The digests for the default platform, which are all that earlier versions stored. */
  digests: Record<string, string[]>
  lookup?: LookupDigests | undefined
}

/** The user_data keys that a deletion request can name: email, phone and external ID. */
export const IDENTIFYING_KEYS = LOOKUP_KEYS
export type IdentifyingKey = LookupKey

/** Prefix of a visitor ID that was an email address or a phone number (pseudonymizeVisitorId). */
const DIGEST_PREFIX = 'sha256:'

/**
 * Null for blank text and for placeholders such as "undefined", raw or hashed: they would merge
 * unrelated visitors into one and attribute the clicks of one to the purchases of another.
 */
export function resolveVisitorId(visitorId = ''): string | null {
  const prepared = prepareCallerId(visitorId)
  if (prepared === '' || isPlaceholder(prepared)) return null
  const digest = parseVisitorDigest(prepared)
  const isUnfilled = digest !== null && (digest === EMPTY_DIGEST || isPlaceholderDigest(digest))
  return isUnfilled ? null : pseudonymizeVisitorId(visitorId)
}

/** The digests of the values under one key, each value with its other forms. */
function listGroups({ digests, lookup }: PersonIdentifiers, key: IdentifyingKey) {
  return lookup === undefined ? (digests[key] ?? []).map(digest => [digest]) : (lookup[key] ?? [])
}

/** The digests of a visitor ID: as a group, because they are of one value. */
function listVisitorGroup({ visitorId, lookup }: PersonIdentifiers): string[] {
  if (visitorId === null) return []
  const own = listVisitorDigests(visitorId)
  const others = lookup?.visitor_id
  return others === undefined ? own : [...new Set([...own, ...others.flat()])]
}

/** All distinct digests by which a deletion request can name the person of an event. */
export function listIdentifierDigests(person: PersonIdentifiers): string[] {
  const found: string[] = []
  const add = (digest: string) => {
    if (!found.includes(digest)) found.push(digest)
  }
  for (const key of IDENTIFYING_KEYS)
    for (const group of listGroups(person, key)) group.forEach(add)
  listVisitorGroup(person).forEach(add)
  return found
}

/** The digests of the values that an event has under one key. */
export function listDigestsOfKey(person: PersonIdentifiers, key: IdentifyingKey): string[] {
  return listGroups(person, key).flat()
}

/**
 * Whether an event identifies the person with this digest under one of these keys. The visitor ID
 * matches under each key: it may be an email address, a phone number or an ID of the caller.
 */
export function matchesPerson(
  person: PersonIdentifiers,
  { digest, keys }: { digest: string; keys: readonly IdentifyingKey[] },
): boolean {
  if (keys.some(key => listGroups(person, key).some(group => group.includes(digest)))) return true
  return listVisitorGroup(person).includes(digest)
}

/**
 * The other digests of the values that have one of these: another form of the same identifier. An
 * event knows them if it was sent with the identifier itself, and not with its digest.
 */
export function listOtherForms(
  person: PersonIdentifiers,
  digests: ReadonlySet<string>,
  keys: readonly IdentifyingKey[] = IDENTIFYING_KEYS,
): string[] {
  const groups = [...keys.flatMap(key => listGroups(person, key)), listVisitorGroup(person)]
  const known = groups.filter(group => group.some(digest => digests.has(digest)))
  return [...new Set(known.flat())].filter(digest => !digests.has(digest))
}

/**
 * The digest of a visitor ID: the ID itself if it is a digest, else the digest of the same text as
 * `external_id`, because callers often use one ID for both.
 */
export function digestVisitorId(visitorId: string): string {
  return parseVisitorDigest(visitorId) ?? hashIdentifier(normalizeText(visitorId))
}

/**
 * All digests by which a stored visitor ID is found: its own, and that of the same text as
 * `external_id`, which has no white space and no invisible characters.
 */
export function listVisitorDigests(visitorId: string): string[] {
  const digest = parseVisitorDigest(visitorId)
  if (digest !== null) return [digest]
  const text = normalizeText(visitorId)
  const others = listCallerIdForms(visitorId).filter(form => form !== text)
  return [text, ...others].map(hashIdentifier)
}

/** All lookup digests of an event, from its members as sent. */
export function computePersonLookup(
  { user_data, visitor_id }: { user_data?: Record<string, unknown>; visitor_id?: string },
  times: EventTimes,
): LookupDigests {
  return { ...computeLookupDigests(user_data, times), ...computeVisitorLookup(visitor_id) }
}

/**
 * The lookup digests of a visitor ID that is an email address or a phone number, of which only one
 * digest is stored as the ID.
 */
function computeVisitorLookup(visitorId = ''): Pick<LookupDigests, 'visitor_id'> {
  const identifier = readVisitorIdentifier(visitorId)
  if (identifier === null) return {}
  const { key, text } = identifier
  const forms = listLookupForms(key, text.trim().replace(/^mailto:/i, ''), { country: null })
  // Earlier versions recognized no invisible or full-width characters, and no marks of HTML.
  const isPlain = text === decodePercentEncoding(visitorId)
  const digests = [...forms, ...(isPlain ? [] : [normalizeText(visitorId)])].map(hashIdentifier)
  return digests.length === 0 ? {} : { visitor_id: [[...new Set(digests)]] }
}

/** The email address or the phone number that a visitor ID is, as a reader would see it. */
function readVisitorIdentifier(visitorId: string): { key: 'em' | 'ph'; text: string } | null {
  // Most IDs need neither to be decoded nor to be searched.
  if (PLAIN_ID.test(visitorId)) return null
  const decoded = decodeText(visitorId)
  const visible = removeInvisible(decoded).normalize('NFKC')
  if (visible.includes('@')) {
    // An address that is recognized as it is keeps the digest of earlier versions.
    return { key: 'em', text: decoded.includes('@') ? decoded : visible }
  }
  return isInternationalPhone(visible) ? { key: 'ph', text: visible } : null
}

const PLAIN_ID = /^[\w.:-]*$/

/** The digest that a visitor ID is, such as that of an email address. Null for any other ID. */
function parseVisitorDigest(visitorId: string): string | null {
  if (visitorId.startsWith(DIGEST_PREFIX)) return visitorId.slice(DIGEST_PREFIX.length)
  return parseSuppliedDigest(visitorId)
}

/**
 * The key of a digest in the payload index: 32 bits of the digest, mixed with the tracker ID so
 * that the cost of a search does not depend on other trackers. Events that share a key by chance
 * (one search in a hundred among ten million events) are filtered after reading. 0 marks rows that
 * are not indexed.
 */
export function indexKey(trackerId: string, digest: string): number {
  const key = Number.parseInt(digest.slice(0, 8), 16) ^ Number.parseInt(trackerId.slice(-8), 16)
  return key === 0 ? 1 : key
}

/** The index key of payloads from before version 0.6: the first 18 bits of the digest, plus 1. */
export function legacyIndexKey(digest: string): number {
  return (Number.parseInt(digest.slice(0, 8), 16) >>> 14) + 1
}

/**
 * Prefix of a withdrawal key that is a keyed digest. No visitor ID begins with a space. The prefix
 * alone marks a tracker that has such keys: events of other trackers need no keyed digests.
 */
const KEYED_PREFIX = ' keyed:'
export const KEYED_WITHDRAWALS_MARKER = KEYED_PREFIX

/**
 * The keys under which a withdrawal may be stored for the person of this payload, except keyed
 * digests. Versions before 0.6 stored plain digests of identifiers, and visitor IDs with spaces
 * around them.
 */
export function listVisitorKeys(payload: PersonIdentifiers | null): string[] {
  if (!payload) return []
  const { visitorId, lookup } = payload
  const keys = visitorId === null ? [] : [visitorId.trim()]
  for (const digest of lookup?.visitor_id?.flat() ?? []) keys.push(externalKey(digest))
  for (const digest of listDigestsOfKey(payload, 'em')) keys.push(`${DIGEST_PREFIX}${digest}`)
  for (const digest of listDigestsOfKey(payload, 'ph')) keys.push(`${DIGEST_PREFIX}${digest}`)
  for (const digest of listDigestsOfKey(payload, 'external_id')) keys.push(externalKey(digest))
  return keys
}

/**
 * The digests by which a withdrawal reaches an event: those of email addresses, phone numbers and
 * external IDs. A visitor ID counts only if it is a digest itself: other IDs are exact.
 */
export function listWithdrawableDigests(person: PersonIdentifiers): string[] {
  return [...new Set(listWithdrawableGroups(person).flat())]
}

/** The same digests, each identifier with its other forms. */
export function listWithdrawableGroups(person: PersonIdentifiers): string[][] {
  const groups = IDENTIFYING_KEYS.flatMap(key => listGroups(person, key))
  const { visitorId } = person
  if (visitorId === null || parseVisitorDigest(visitorId) === null) return groups
  return [...groups, listVisitorGroup(person)]
}

/** How many identifiers these groups are of: two groups with a common digest are of one. */
export function countIdentifiers(groups: readonly (readonly string[])[]): number {
  const merged: Set<string>[] = []
  for (const group of groups) {
    const same = merged.filter(one => group.some(digest => one.has(digest)))
    for (const one of same) merged.splice(merged.indexOf(one), 1)
    merged.push(new Set([...same.flatMap(one => [...one]), ...group]))
  }
  return merged.length
}

/** The withdrawal keys of these digests. */
export function listKeyedWithdrawalKeys(
  key: KeyObject,
  trackerId: string,
  digests: readonly string[],
): string[] {
  return digests.map(digest => toKeyedWithdrawalKey(computeKeyedDigest(key, trackerId, digest)))
}

export function toKeyedWithdrawalKey(keyed: string): string {
  return `${KEYED_PREFIX}${keyed}`
}

/**
 * The plain keys under which the withdrawal of a visitor is stored: the ID, and its digest for
 * events that have the same ID as `external_id`. None if the ID is a digest, which is stored only
 * as a keyed digest.
 */
export function listPlainWithdrawalKeys({ visitorId }: PersonIdentifiers): string[] {
  if (visitorId === null || parseVisitorDigest(visitorId) !== null) return []
  return [visitorId, ...listVisitorDigests(visitorId).map(externalKey)]
}

/** The plain keys of a withdrawal that contain this digest. */
export function listWithdrawalKeysOfDigest(digest: string): string[] {
  return [digest, `${DIGEST_PREFIX}${digest}`, externalKey(digest)]
}

function externalKey(digest: string): string {
  return `external_id:${digest}`
}

/** Returns the key for `computeKeyedDigest`. Throws while the key is unavailable. */
export type ErasureKeyProvider = () => Promise<KeyObject>

/**
 * The stored form of the digest of a person who was erased or withdrew consent: HMAC-SHA256 in
 * hexadecimal, under a key that the store holds only encrypted. A plain digest could be tested
 * against every known email address. The tracker ID is included, so that two trackers that erase
 * the same person store different values.
 */
export function computeKeyedDigest(key: KeyObject, trackerId: string, digest: string): string {
  return createHmac('sha256', key).update(`${trackerId}\n${digest}`).digest('hex')
}

/**
 * The visitor ID that may be stored. It should be pseudonymous, but some callers send an email
 * address or a phone number: a value with an @, or a phone number with a +, becomes
 * `sha256:<64 hex>` of its normalized form. That is the same digest as in `em` or `ph`, so the
 * visitor stays one visitor and erasure finds them. Any other ID is stored without the spaces
 * around it and otherwise unchanged: `v1` and `V1` may be two visitors.
 */
export function pseudonymizeVisitorId(visitorId: string): string {
  const identifier = readVisitorIdentifier(visitorId)
  if (identifier === null) return visitorId.trim()
  const { key, text } = identifier
  if (key === 'em') return toVisitorDigest(normalizeVisible(text).replace(/^mailto:/, ''))
  return toVisitorDigest(normalizePhone(text.trim(), null) ?? text.replace(/[^\d]/g, ''))
}

function toVisitorDigest(normalized: string): string {
  return `sha256:${hashIdentifier(normalized)}`
}
