import { hash } from 'node:crypto'

/**
 * SHA-256 of the canonical body (members in order of their names), to notice another body under
 * the same id. `event_id` is left out, since the same id may come in the header instead. The
 * tracker and the id go in first, so that equal bodies of two events have unlike digests.
 *
 * 4.6 µs for a purchase of 1.2 KB. Writing the text here instead of with `JSON.stringify` takes 9.
 */
export function digestBody(
  body: Record<string, unknown>,
  { trackerId, eventId }: { trackerId: string; eventId: string },
): Buffer {
  const text = JSON.stringify(sortMembers(body, 'event_id'))
  // By way of hexadecimal: asked for a buffer, `hash` takes 0.5 µs more, for memory off the heap.
  return Buffer.from(hash('sha256', `${trackerId}\n${eventId}\n${text}`, 'hex'), 'hex')
}

/** Members in order of their names, less one. HTTP has bounded the depth of the body. */
function sortMembers(object: object, omitted?: string): Record<string, unknown> {
  const source = object as Record<string, unknown>
  const members: Record<string, unknown> = {}
  for (const name of sortNames(Object.keys(source))) {
    if (name !== omitted) members[name] = sortNestedMembers(source[name])
  }
  return members
}

function sortNestedMembers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? value.map(sortNestedMembers) : sortMembers(value)
}

const INSERTION_SORT_MAX = 16

/** In place. Inserting one by one takes half the time of `sort` where there are few. */
function sortNames(names: string[]): string[] {
  if (names.length > INSERTION_SORT_MAX) return names.sort()
  for (let next = 1; next < names.length; next += 1) {
    const name = names[next] as string
    let at = next
    for (; at > 0 && (names[at - 1] as string) > name; at -= 1) names[at] = names[at - 1] as string
    names[at] = name
  }
  return names
}
