import { createHmac, type KeyObject } from 'node:crypto'
import {
  hashIdentifier,
  normalizeText,
  parseSuppliedDigest,
} from '../identity/identifier-digest.ts'

/** A person as an event names them. */
export interface PersonIdentifiers {
  visitorId: string | null
  digests: Record<string, string[]>
}

/** The digests by which a deletion may ask for a person: of an e-mail, a phone or an own id. */
export const IDENTIFYING_KEYS = ['em', 'ph', 'external_id'] as const
export type IdentifyingKey = (typeof IDENTIFYING_KEYS)[number]

/** How a visitor id that was an e-mail address or a phone number is kept (identity/visitor-key). */
const DIGEST_PREFIX = 'sha256:'

/** Every digest by which the person of an event can be asked for, each once. */
export function listIdentifierDigests({ visitorId, digests }: PersonIdentifiers): string[] {
  const found: string[] = []
  for (const key of IDENTIFYING_KEYS) {
    for (const digest of digests[key] ?? []) if (!found.includes(digest)) found.push(digest)
  }
  if (visitorId === null) return found
  const ofVisitor = digestVisitorId(visitorId)
  if (!found.includes(ofVisitor)) found.push(ofVisitor)
  return found
}

/**
 * Whether an event names the person of this digest under one of these keys. The visitor id counts
 * under each: it may be an e-mail address, a phone number or an id of the caller's.
 */
export function matchesPerson(
  { visitorId, digests }: PersonIdentifiers,
  { digest, keys }: { digest: string; keys: readonly IdentifyingKey[] },
): boolean {
  if (keys.some(key => digests[key]?.includes(digest))) return true
  return visitorId !== null && digestVisitorId(visitorId) === digest
}

/**
 * The digest that a visitor id has: its own where it is one, else the digest of the same text as
 * `external_id`, under which callers who use one id for both ask for it.
 */
export function digestVisitorId(visitorId: string): string {
  if (visitorId.startsWith(DIGEST_PREFIX)) return visitorId.slice(DIGEST_PREFIX.length)
  return parseSuppliedDigest(visitorId) ?? hashIdentifier(normalizeText(visitorId))
}

/**
 * The key under which the index of payloads knows a digest of a tracker: 32 bits of the digest,
 * which are random, with the tracker's own mixed in, so that a search costs the same however much
 * other trackers store. Events that share a key by chance (one search in a hundred among ten
 * million) are told apart when they are read. 0 is for rows that are not indexed.
 */
export function indexKey(trackerId: string, digest: string): number {
  const key = Number.parseInt(digest.slice(0, 8), 16) ^ Number.parseInt(trackerId.slice(-8), 16)
  return key === 0 ? 1 : key
}

/** The same of payloads from before version 0.6: the first 18 bits of the digest, from 1 on. */
export function legacyIndexKey(digest: string): number {
  return (Number.parseInt(digest.slice(0, 8), 16) >>> 14) + 1
}

/** The keys under which a withdrawal may have named the person of this payload. */
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
 * The keys that a withdrawal is kept under: those of the person that it names, and the digest that
 * its visitor id has as `external_id`, for events that carry the person only there.
 */
export function listWithdrawalKeys(person: PersonIdentifiers): string[] {
  const { visitorId } = person
  const digests = visitorId === null ? [] : [digestVisitorId(visitorId)]
  return [...new Set([...listVisitorKeys(person), ...digests.map(externalKey)])]
}

/** The keys of a withdrawal that hold this digest itself. */
export function listWithdrawalKeysOfDigest(digest: string): string[] {
  return [digest, `${DIGEST_PREFIX}${digest}`, externalKey(digest)]
}

function externalKey(digest: string): string {
  return `external_id:${digest}`
}

/**
 * What is kept of the digest of an erased person: HMAC-SHA256 under a key that the store holds
 * only sealed, in hexadecimal. A digest alone could be tried against every known e-mail address.
 * The tracker goes in, so that nobody sees that two trackers erased the same person.
 */
export function computeKeyedDigest(key: KeyObject, trackerId: string, digest: string): string {
  return createHmac('sha256', key).update(`${trackerId}\n${digest}`).digest('hex')
}
