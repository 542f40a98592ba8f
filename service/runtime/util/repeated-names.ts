const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c

/** Counts the members in valid JSON text: the colons outside of strings. */
export function countWrittenMembers(json: Uint8Array): number {
  let count = 0
  for (let at = 0; at < json.length; at += 1) {
    if (json[at] === COLON) count += 1
    if (json[at] !== QUOTE) continue
    at += 1
    while (json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1
  }
  return count
}

/**
 * Parses JSON of a person's file or argument; null when an object in it names a member twice, of
 * which `JSON.parse` keeps the last in silence. Throws a SyntaxError as `JSON.parse` does.
 */
export function parseWithoutRepeats(text: string): { value: unknown } | null {
  const value: unknown = JSON.parse(text)
  return countWrittenMembers(new TextEncoder().encode(text)) === countMembers(value)
    ? { value }
    : null
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = Object.values(value)
  const own = Array.isArray(value) ? 0 : members.length
  return members.reduce((sum: number, member) => sum + countMembers(member), own)
}
