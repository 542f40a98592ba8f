/**
 * The one text of a JSON value, whatever the order and spacing of the text that it came from
 * (RFC 8785, JCS): members in the order of their UTF-16 code units, no spaces, numbers and strings
 * as ECMAScript writes them. Throws on what JSON cannot say, or not the same way everywhere.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${Array.from(value, item => canonicalJson(item)).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const source = value as Record<string, unknown>
    const members = Object.keys(source)
      .sort()
      .map(name => `${canonicalText(name)}:${canonicalJson(source[name])}`)
    return `{${members.join(',')}}`
  }
  if (typeof value === 'string') return canonicalText(value)
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value)
  throw new TypeError(`JSON cannot say ${typeof value === 'number' ? value : typeof value}`)
}

/** Half of a surrogate pair has no UTF-8, so no two programs need agree on it (RFC 7493, 2.1). */
function canonicalText(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('half a character cannot be written in UTF-8')
  return JSON.stringify(text)
}
