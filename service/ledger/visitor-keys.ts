import { normalizeUserData } from '../identity/normalize-user-data.ts'

interface KnownPerson {
  visitorId: string | null
  digests: Record<string, string[]>
}

/** How a visitor id that was an e-mail address or a phone number is kept (identity/visitor-key). */
const DIGEST_MARK = 'sha256:'

/** The keys under which a withdrawal may have named the person of this payload. */
export function visitorKeysOf(payload: KnownPerson | null): string[] {
  if (!payload) return []
  const { visitorId, digests } = payload
  const { em = [], ph = [], external_id = [] } = digests
  const keys = [...em, ...ph].map(digest => `${DIGEST_MARK}${digest}`)
  return [...(visitorId === null ? [] : [visitorId]), ...keys, ...external_id.map(externalKey)]
}

/**
 * The keys that a withdrawal is kept under: those of the person that it names, and the digest that
 * its visitor id has as `external_id`, for events that carry the person only there.
 */
export function withdrawalKeys(person: KnownPerson): string[] {
  const { visitorId } = person
  const digests = visitorId === null ? [] : externalDigests(visitorId)
  return [...new Set([...visitorKeysOf(person), ...digests.map(externalKey)])]
}

function externalDigests(visitorId: string): string[] {
  if (visitorId.startsWith(DIGEST_MARK)) return [visitorId.slice(DIGEST_MARK.length)]
  return normalizeUserData({ external_id: visitorId }).digests.external_id ?? []
}

function externalKey(digest: string): string {
  return `external_id:${digest}`
}
