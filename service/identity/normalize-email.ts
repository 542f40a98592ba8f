/** RFC 5321 allows 254 characters for a whole address. */
const emailCharsMax = 254

const LOCAL_PART = /^(?:"[^"\s\p{C}]+"|[^\s\p{C}@"<>()[\]:;,\\]+)$/u
const DOMAIN = /^(?:[\p{L}\p{M}\p{N}_-]+\.)+[\p{L}\p{M}\p{N}-]{2,}$/u

/**
 * Meta's rule for `em` (Customer Information Parameters): trimmed and lower case, nothing else.
 * Dots and +tags stay, since they are part of the address. Takes prepared text; null when it is
 * not one bare address of a dotted domain, because a display name or a typo would hash to nobody.
 */
export function normalizeEmail(prepared: string): string | null {
  if (prepared.length > emailCharsMax) return null
  const at = prepared.lastIndexOf('@')
  const isAddress =
    at > 0 && LOCAL_PART.test(prepared.slice(0, at)) && DOMAIN.test(prepared.slice(at + 1))
  return isAddress ? prepared : null
}
