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
  return hash('sha256', `${trackerId}\n${eventId}\n${canonicalJson(rest)}`, 'buffer')
}

/** The doorframe has bounded the depth of the body. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.keys(value)
    .sort()
    .map(name => `${JSON.stringify(name)}:${canonicalJson((value as never)[name])}`)
  return `{${members.join(',')}}`
}
