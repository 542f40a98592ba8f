import { hash } from 'node:crypto'

/**
 * SHA-256 of the canonical body (members in order of their names), to notice another body under
 * the same id. `event_id` is left out, since the same id may come in the header instead. The
 * tracker and the id go in first, so that equal bodies of two events have unlike digests.
 */
export function bodyDigest(
  body: Record<string, unknown>,
  { trackerId, eventId }: { trackerId: string; eventId: string },
): Buffer {
  const { event_id: _, ...rest } = body
  return hash('sha256', `${trackerId}\n${eventId}\n${JSON.stringify(ordered(rest))}`, 'buffer')
}

/** Members in order of their names. The doorframe has bounded the depth of the body. */
function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(ordered)
  const members: Record<string, unknown> = {}
  for (const name of Object.keys(value).sort()) {
    members[name] = ordered((value as Record<string, unknown>)[name])
  }
  return members
}
