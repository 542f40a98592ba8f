import { createHmac, type KeyObject } from 'node:crypto'
import {
  decodePercentEncoding,
  EMPTY_DIGEST,
  isInternationalPhone,
  isPlaceholder,
  normalizeIdentifier,
  normalizeText,
  parseSuppliedDigest,
} from '../identity/identifier-formats.ts'
import { normalizePhone } from '../identity/normalize-phone.ts'
import { hashIdentifier, isPlaceholderDigest } from '../identity/normalize-user-data.ts'

/** The identifiers of a person in an event. */
export interface PersonIdentifiers {
  visitorId: string | null
  digests: Record<string, string[]>
}

/** The user_data keys that a deletion request can name: email, phone and external ID. */
export const IDENTIFYING_KEYS = ['em', 'ph', 'external_id'] as const
export type IdentifyingKey = (typeof IDENTIFYING_KEYS)[number]

/** Prefix of a visitor ID that was an email address or a phone number (pseudonymizeVisitorId). */
const DIGEST_PREFIX = 'sha256:'

/**
 * Null for blank text and for placeholders such as "undefined", raw or hashed: they would merge
 * unrelated visitors into one and attribute the clicks of one to the purchases of another.
 */
export function resolveVisitorId(visitorId = ''): string | null {
  const prepared = normalizeText(visitorId)
  if (prepared === '' || isPlaceholder(prepared)) return null
  const digest = parseVisitorDigest(prepared)
  const isUnfilled = digest !== null && (digest === EMPTY_DIGEST || isPlaceholderDigest(digest))
  return isUnfilled ? null : pseudonymizeVisitorId(visitorId)
}

/** All distinct digests by which a deletion request can name the person of an event. */
export function listIdentifierDigests({ visitorId, digests }: PersonIdentifiers): string[] {
  const found: string[] = []
  for (const key of IDENTIFYING_KEYS) {
    for (const digest of digests[key] ?? []) if (!found.includes(digest)) found.push(digest)
  }
  if (visitorId === null) return found
  const visitorDigest = digestVisitorId(visitorId)
  if (!found.includes(visitorDigest)) found.push(visitorDigest)
  return found
}

/**
 * Whether an event identifies the person with this digest under one of these keys. The visitor ID
 * matches under each key: it may be an email address, a phone number or an ID of the caller.
 */
export function matchesPerson(
  { visitorId, digests }: PersonIdentifiers,
  { digest, keys }: { digest: string; keys: readonly IdentifyingKey[] },
): boolean {
  if (keys.some(key => digests[key]?.includes(digest))) return true
  return visitorId !== null && digestVisitorId(visitorId) === digest
}

/**
 * The digest of a visitor ID: the ID itself if it is a digest, else the digest of the same text as
 * `external_id`, because callers often use one ID for both.
 */
export function digestVisitorId(visitorId: string): string {
  return parseVisitorDigest(visitorId) ?? hashIdentifier(normalizeText(visitorId))
}

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
  const { visitorId, digests } = payload
  const keys = visitorId === null ? [] : [visitorId.trim()]
  for (const digest of digests.em ?? []) keys.push(`${DIGEST_PREFIX}${digest}`)
  for (const digest of digests.ph ?? []) keys.push(`${DIGEST_PREFIX}${digest}`)
  for (const digest of digests.external_id ?? []) keys.push(externalKey(digest))
  return keys
}

/**
 * The digests by which a withdrawal reaches an event: those of email addresses, phone numbers and
 * external IDs. A visitor ID counts only if it is a digest itself: other IDs are exact.
 */
export function listWithdrawableDigests({ visitorId, digests }: PersonIdentifiers): string[] {
  const found = new Set(IDENTIFYING_KEYS.flatMap(key => digests[key] ?? []))
  const visitorDigest = visitorId === null ? null : parseVisitorDigest(visitorId)
  if (visitorDigest !== null) found.add(visitorDigest)
  return [...found]
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
  return [visitorId, externalKey(digestVisitorId(visitorId))]
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
  const text = decodePercentEncoding(visitorId)
  if (text.includes('@')) return toVisitorDigest(normalizeIdentifier(text).replace(/^mailto:/, ''))
  if (isInternationalPhone(text)) {
    return toVisitorDigest(normalizePhone(text.trim(), null) ?? text.replace(/[^\d]/g, ''))
  }
  return visitorId.trim()
}

function toVisitorDigest(normalized: string): string {
  return `sha256:${hashIdentifier(normalized)}`
}
