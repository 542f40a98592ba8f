import { DIGEST_MARK, type NamedPerson, visitorDigest } from './identifiers.ts'

/** The keys under which a withdrawal may have named the person of this payload. */
export function visitorKeysOf(payload: NamedPerson | null): string[] {
  if (!payload) return []
  const { visitorId, digests } = payload
  const keys = visitorId === null ? [] : [visitorId]
  for (const digest of digests.em ?? []) keys.push(`${DIGEST_MARK}${digest}`)
  for (const digest of digests.ph ?? []) keys.push(`${DIGEST_MARK}${digest}`)
  for (const digest of digests.external_id ?? []) keys.push(externalKey(digest))
  return keys
}

/**
 * The keys that a withdrawal is kept under: those of the person that it names, and the digest that
 * its visitor id has as `external_id`, for events that carry the person only there.
 */
export function withdrawalKeys(person: NamedPerson): string[] {
  const { visitorId } = person
  const digests = visitorId === null ? [] : [visitorDigest(visitorId)]
  return [...new Set([...visitorKeysOf(person), ...digests.map(externalKey)])]
}

/** The keys of a withdrawal that hold this digest itself. */
export function withdrawalKeysOfDigest(digest: string): string[] {
  return [digest, `${DIGEST_MARK}${digest}`, externalKey(digest)]
}

function externalKey(digest: string): string {
  return `external_id:${digest}`
}
