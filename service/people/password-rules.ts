export const PASSWORD_CHARACTERS_MIN = 10
export const PASSWORD_CHARACTERS_MAX = 128

const WORDS = 'Several words are good.'
/** What forms say before anything is wrong. */
export const PASSWORD_HINT = `At least ${PASSWORD_CHARACTERS_MIN} characters. ${WORDS}`

/**
 * The sentence about a password that may not be used, or null. Length is what counts (NIST SP
 * 800-63B, 3.1.1): no rules on kinds of characters, but not the person's own address or name.
 */
export function passwordFault(password: string, { email, name }: PasswordOwner): string | null {
  const characters = [...password].length
  if (characters < PASSWORD_CHARACTERS_MIN) {
    return `Use at least ${PASSWORD_CHARACTERS_MIN} characters.`
  }
  if (password.length > PASSWORD_CHARACTERS_MAX) {
    return `Use at most ${PASSWORD_CHARACTERS_MAX} characters.`
  }
  const lower = password.toLowerCase()
  if (lower === email.toLowerCase() || lower === name.toLowerCase()) {
    return 'Use something else than your name or address.'
  }
  return new Set(lower).size < 4 ? 'Use more than three different characters.' : null
}

interface PasswordOwner {
  email: string
  name: string
}
