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

export const PASSWORD_CHARACTERS_MIN = 10
export const PASSWORD_CHARACTERS_MAX = 128

const PASSPHRASE_HINT = 'Several words make a good password.'
/** Shown in forms. */
export const PASSWORD_HINT = `At least ${PASSWORD_CHARACTERS_MIN} characters. ${PASSPHRASE_HINT}`

/**
 * Explains why a password is not acceptable, or returns null. Length is what counts (NIST SP
 * 800-63B, 3.1.1): no rules on kinds of characters, but not the person's own address or name.
 */
export function findPasswordError(
  password: string,
  { email, name }: PasswordContext,
): string | null {
  const characters = [...password].length
  if (characters < PASSWORD_CHARACTERS_MIN) {
    return `Use at least ${PASSWORD_CHARACTERS_MIN} characters.`
  }
  if (password.length > PASSWORD_CHARACTERS_MAX) {
    return `Use at most ${PASSWORD_CHARACTERS_MAX} characters.`
  }
  const lower = password.toLowerCase()
  if (lower === email.toLowerCase() || lower === name.toLowerCase()) {
    return 'Do not use your name or email address.'
  }
  return new Set(lower).size < 4 ? 'Use more than three different characters.' : null
}

interface PasswordContext {
  email: string
  name: string
}
