const NAME_CHARACTERS_MAX = 100

/**
 * A name from outside, as it may stand in a text: on one line, without invisible characters, and
 * without anything that an email program turns into a link, such as `https://` or `evil.example`.
 */
export function plainName(name: string): string {
  return name
    .normalize('NFKC')
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .replaceAll(/[/\u2044]{2}|\bwww\.|\b(?:mailto|tel|sms|data|javascript):/gi, ' ')
    .replaceAll(/[.\u3002@](?=[\p{L}\p{N}])/gu, '$& ')
    .slice(0, NAME_CHARACTERS_MAX)
    .trim()
}
