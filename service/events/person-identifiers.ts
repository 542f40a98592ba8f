import { createHmac, type KeyObject } from 'node:crypto'
import {
  hashIdentifier,
  normalizeText,
  parseSuppliedDigest,
} from '../identity/identifier-formats.ts'

/** The identifiers of a person in an event. */
export interface PersonIdentifiers {
  visitorId: string | null
  digests: Record<string, string[]>
}

/** The user_data keys that a deletion request can name: email, phone and external ID. */
export const IDENTIFYING_KEYS = ['em', 'ph', 'external_id'] as const
export type IdentifyingKey = (typeof IDENTIFYING_KEYS)[number]

/** Prefix of a visitor ID that was an email address or a phone number (identifier-formats.ts). */
const DIGEST_PREFIX = 'sha256:'

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
  if (visitorId.startsWith(DIGEST_PREFIX)) return visitorId.slice(DIGEST_PREFIX.length)
  return parseSuppliedDigest(visitorId) ?? hashIdentifier(normalizeText(visitorId))
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

/** The keys under which a withdrawal may have identified the person of this payload. */
export function listVisitorKeys(payload: PersonIdentifiers | null): string[] {
  if (!payload) return []
  const { visitorId, digests } = payload
  const keys = visitorId === null ? [] : [visitorId]
  for (const digest of digests.em ?? []) keys.push(`${DIGEST_PREFIX}${digest}`)
  for (const digest of digests.ph ?? []) keys.push(`${DIGEST_PREFIX}${digest}`)
  for (const digest of digests.external_id ?? []) keys.push(externalKey(digest))
  return keys
}

/**
 * The keys under which a withdrawal is stored: those of its person, and the digest of its visitor
 * ID as `external_id`, for events that identify the person only there.
 */
export function listWithdrawalKeys(person: PersonIdentifiers): string[] {
  const { visitorId } = person
  const digests = visitorId === null ? [] : [digestVisitorId(visitorId)]
  return [...new Set([...listVisitorKeys(person), ...digests.map(externalKey)])]
}

/** The keys of a withdrawal that contain this digest. */
export function listWithdrawalKeysOfDigest(digest: string): string[] {
  return [digest, `${DIGEST_PREFIX}${digest}`, externalKey(digest)]
}

function externalKey(digest: string): string {
  return `external_id:${digest}`
}

/**
 * The stored form of an erased person's digest: HMAC-SHA256 in hexadecimal, under a key that the
 * store holds only encrypted. A plain digest could be tested against every known email address. The
 * tracker ID is included, so that two trackers that erase the same person store different values.
 */
export function computeKeyedDigest(key: KeyObject, trackerId: string, digest: string): string {
  return createHmac('sha256', key).update(`${trackerId}\n${digest}`).digest('hex')
}
