const CHARACTERS_MAX = 254

/**
 * What the sign-in library takes as well, and no more: no quotes, no two points, a name at the end.
 */
const ADDRESS =
  /^(?!\.)(?!.*\.\.)[a-z0-9_'+.-]{0,63}[a-z0-9_+-]@([a-z0-9][a-z0-9-]{0,62}\.)+[a-z]{2,63}$/

/**
 * The address as it is compared and stored: trimmed, lower case. Null when it is none: strict,
 * since it becomes the recipient of a mail, where commas, quotes, angles and line breaks have a
 * meaning.
 */
export function emailAddress(given: unknown): string | null {
  if (typeof given !== 'string') return null
  const address = given.trim().toLowerCase()
  return address.length <= CHARACTERS_MAX && ADDRESS.test(address) ? address : null
}
