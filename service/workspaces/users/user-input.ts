/**
 * Characters that show nothing: control characters, characters that hide text or change its
 * direction, fillers such as U+3164, and the blank of Braille.
 */
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Joiners that Persian and Indic spelling needs (RFC 5892, appendix A.1 and A.2). */
const SPELLED_JOINERS = /(?<=[\p{Script=Arabic}\p{M}])[\u200c\u200d](?=\p{L})/gu

/** Asks for an emoji in color. A name reads the same without it. */
const EMOJI_STYLE = /\ufe0f/g

/** Returns a trimmed, visible, one-line name with a letter or digit; null when it is not one. */
export function parseDisplayName(input: unknown, charactersMax: number): string | null {
  if (typeof input !== 'string' || !input.isWellFormed()) return null
  const name = input
    .normalize('NFC')
    .replaceAll(EMOJI_STYLE, '')
    .replaceAll(/\p{Zs}+/gu, ' ')
    .trim()
  const isVisible =
    /[\p{L}\p{N}]/u.test(name) && !INVISIBLE.test(name.replaceAll(SPELLED_JOINERS, ''))
  return isVisible && name.length <= charactersMax ? name : null
}

/** What email programs make a link of: schemes, domains (also with other dots) and addresses. */
const LINKS = [
  /[/\u2044]{2}|\bwww\.|\b(?:mailto|tel|sms|data|javascript):/i,
  /[\p{L}\p{N}_-][.\u3002]\p{L}{2}/u,
  /\d+(?:\.\d+){3}/,
]

/**
 * As `parseDisplayName`, for names that are emailed to strangers, and null also for a name with a
 * link: anyone can sign up, and our emails must not carry their advertisements.
 */
export function parseNameWithoutLinks(input: unknown, charactersMax: number): string | null {
  const name = parseDisplayName(input, charactersMax)
  const plain = name?.normalize('NFKC') ?? ''
  return LINKS.some(pattern => pattern.test(plain)) ? null : name
}

const NAME_CHARACTERS_MAX = 100

/** Why `parseName` returned null, and what to do. */
export const NAME_ERROR =
  `Enter a name of at most ${NAME_CHARACTERS_MAX} visible characters, without links: ` +
  'put a space after each dot.'

/** The name of a user or a workspace. */
export function parseName(input: unknown): string | null {
  return parseNameWithoutLinks(input, NAME_CHARACTERS_MAX)
}

/** What a form says about a role that is not one of them. */
export const ROLE_ERROR = 'Choose a role from the list.'

/** A name that a sign-in provider knows, or one made of the address when it is not acceptable. */
export function toUserName(name: unknown, email: string): string {
  const local = email.split('@', 1)[0] ?? ''
  return parseName(name) ?? parseName(local.replaceAll(/[^\p{L}\p{N}]+/gu, ' ')) ?? 'New member'
}

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
