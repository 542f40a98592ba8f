const DECODE_ROUNDS_MAX = 4

const LOCAL_PART_END = /[^\s/\\@?#&=,;:<>()]/u
const DOMAIN = /@(?:[\p{L}\p{M}\p{N}_-]{1,63}\.){1,8}(?:\p{L}[\p{L}\p{M}]{1,62}|xn--[a-z0-9-]+)/iuy
const INTERNATIONAL_PHONE = /^(?:tel:)?[+＋](?:[\s().+-]*\d){8,15}[\s().-]*$/i
const GROUPED_PHONE = /^\(?\d{3}\)?[\s.+-]{0,2}\d{3}[\s.+-]\d{4}$/

/** Whether an e-mail address stands anywhere in the text. Works in time linear to its length. */
export function containsEmail(text: string): boolean {
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    if (at === 0 || !LOCAL_PART_END.test(text.charAt(at - 1))) continue
    DOMAIN.lastIndex = at
    if (DOMAIN.test(text)) return true
  }
  return false
}

/** Whether the whole text is a phone number with + in front: no id of a machine begins so. */
export function isInternationalPhone(text: string): boolean {
  return text.length <= 64 && INTERNATIONAL_PHONE.test(text.trim())
}

/** Whether the whole text is a phone number, with + or grouped the American way. */
export function isFormattedPhone(text: string): boolean {
  return isInternationalPhone(text) || (text.length <= 20 && GROUPED_PHONE.test(text.trim()))
}

/**
 * Undoes percent-encoding as often as it was applied, up to a limit, and leaves broken sequences
 * standing, so that %2540 is read as the @ that it will become somewhere.
 */
export function decodePercentEncoding(text: string): string {
  let decoded = text
  for (let round = 0; round < DECODE_ROUNDS_MAX && decoded.includes('%'); round += 1) {
    const next = decoded.replace(/(?:%[0-9a-f]{2})+/gi, decodeRun)
    if (next === decoded) break
    decoded = next
  }
  return decoded
}

function decodeRun(run: string): string {
  try {
    return decodeURIComponent(run)
  } catch {
    // Bytes that are no UTF-8: the ASCII among them is still what gives an identifier away.
    return run.replace(/%([2-7][0-9a-f])/gi, (_, code) => String.fromCharCode(parseInt(code, 16)))
  }
}
