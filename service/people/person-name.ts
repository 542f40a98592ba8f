const CHARACTERS_MAX = 100

/** A name as it is stored: one line, without control characters. Null when nothing is left. */
export function personName(given: unknown): string | null {
  if (typeof given !== 'string' || !given.isWellFormed()) return null
  const name = given.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  return name === '' || name.length > CHARACTERS_MAX ? null : name
}
