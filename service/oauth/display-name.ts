/** Control characters, and characters that hide text or change its direction. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u

/** Returns a trimmed, visible, one-line name; null when it is not one. */
export function parseDisplayName(input: unknown, charactersMax: number): string | null {
  if (typeof input !== 'string' || !input.isWellFormed()) return null
  const name = input.normalize('NFC').trim()
  const isValid = name !== '' && name.length <= charactersMax && !INVISIBLE.test(name)
  return isValid ? name : null
}
