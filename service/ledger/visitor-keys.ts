import { normalizeUserData } from '../identity/normalize-user-data.ts'

interface KnownPerson {
  visitorId: string | null
  digests: Record<string, string[]>
}

/** The keys under which a withdrawal may have named the person of this payload. */
export function visitorKeysOf(payload: KnownPerson | null): string[] {
  if (!payload) return []
  const digests = payload.digests.external_id ?? []
  const keys = digests.map(externalKey)
  return payload.visitorId === null ? keys : [payload.visitorId, ...keys]
}

/**
 * The keys that a withdrawal of this visitor is kept under: the visitor id, and the digest that the
 * same id has as `external_id`, for events that carry the person only there.
 */
export function withdrawalKeys(visitorId: string): string[] {
  const { digests } = normalizeUserData({ external_id: visitorId })
  return [visitorId, ...(digests.external_id ?? []).map(externalKey)]
}

function externalKey(digest: string): string {
  return `external_id:${digest}`
}
