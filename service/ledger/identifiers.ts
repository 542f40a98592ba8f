import { identifierDigest, suppliedDigest } from '../identity/identifier-digest.ts'
import { preparedText } from '../identity/prepared-text.ts'

/** A person as an event names them. */
export interface NamedPerson {
  visitorId: string | null
  digests: Record<string, string[]>
}

/** The digests by which a deletion may ask for a person: of an e-mail, a phone or an own id. */
export const IDENTIFYING_KEYS = ['em', 'ph', 'external_id'] as const
export type IdentifyingKey = (typeof IDENTIFYING_KEYS)[number]

/** How a visitor id that was an e-mail address or a phone number is kept (identity/visitor-key). */
export const DIGEST_MARK = 'sha256:'

/** Every digest by which the person of an event can be asked for, each once. */
export function identifiersOf({ visitorId, digests }: NamedPerson): string[] {
  const found: string[] = []
  for (const key of IDENTIFYING_KEYS) {
    for (const digest of digests[key] ?? []) if (!found.includes(digest)) found.push(digest)
  }
  if (visitorId === null) return found
  const ofVisitor = visitorDigest(visitorId)
  if (!found.includes(ofVisitor)) found.push(ofVisitor)
  return found
}

/**
 * Whether an event names the person of this digest under one of these keys. The visitor id counts
 * under each: it may be an e-mail address, a phone number or an id of the caller's.
 */
export function namesPerson(
  { visitorId, digests }: NamedPerson,
  { digest, keys }: { digest: string; keys: readonly IdentifyingKey[] },
): boolean {
  if (keys.some(key => digests[key]?.includes(digest))) return true
  return visitorId !== null && visitorDigest(visitorId) === digest
}

/**
 * The digest that a visitor id has: its own where it is one, else the digest of the same text as
 * `external_id`, under which callers who use one id for both ask for it.
 */
export function visitorDigest(visitorId: string): string {
  if (visitorId.startsWith(DIGEST_MARK)) return visitorId.slice(DIGEST_MARK.length)
  return suppliedDigest(visitorId) ?? identifierDigest(preparedText(visitorId))
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
