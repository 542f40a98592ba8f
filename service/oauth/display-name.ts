/** Control characters, and those that hide or change the direction of what follows them. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u

/** A name that a person can read on one line, trimmed; null when it is none. */
export function parseDisplayName(given: unknown, charactersMax: number): string | null {
  if (typeof given !== 'string' || !given.isWellFormed()) return null
  const name = given.normalize('NFC').trim()
  const isGood = name !== '' && name.length <= charactersMax && !INVISIBLE.test(name)
  return isGood ? name : null
}
