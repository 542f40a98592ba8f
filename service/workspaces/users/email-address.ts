const EMAIL_CHARACTERS_MAX = 254

/** No more than the sign-in library accepts: no quotes, no two dots, an alphabetic top domain. */
const EMAIL_ADDRESS =
  /^(?!\.)(?!.*\.\.)[a-z0-9_'+.-]{0,63}[a-z0-9_+-]@([a-z0-9][a-z0-9-]{0,62}\.)+[a-z]{2,63}$/

export const EMAIL_ERROR = 'Enter an email address such as ada@example.com.'

/**
 * Returns the address as it is compared and stored: trimmed and in lower case. Returns null when it
 * is invalid. Strict, because commas, quotes, angle brackets and line breaks have a meaning in the
 * recipient of an email.
 */
export function parseEmailAddress(input: unknown): string | null {
  if (typeof input !== 'string') return null
  const address = input.trim().toLowerCase()
  return address.length <= EMAIL_CHARACTERS_MAX && EMAIL_ADDRESS.test(address) ? address : null
}
