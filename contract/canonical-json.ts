/**
 * The canonical text of a JSON value (RFC 8785, JCS): members sorted by UTF-16 code units, no
 * whitespace, numbers and strings as in ECMAScript. Throws on values without a portable JSON form.
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
  throw new TypeError(`JSON cannot represent ${typeof value === 'number' ? value : typeof value}`)
}

/** A lone surrogate has no UTF-8 encoding, so programs may disagree on it (RFC 7493, 2.1). */
function canonicalText(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('a lone surrogate has no UTF-8 encoding')
  return JSON.stringify(text)
}
