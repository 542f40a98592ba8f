/**
 * Characters that are invisible or change the text direction, except the two joiners that scripts
 * and emoji need.
 */
const INVISIBLE = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu
const LINE_BREAKS = /\r\n?|[\u0085\u2028\u2029]/g
const EMPTY_LINES = /\n{3,}/g

/**
 * Makes invisible characters of an untrusted text visible by their code point, such as `[U+202E]`,
 * because people decide based on such texts.
 */
export function escapeInvisible(text: string): string {
  return text
    .replace(LINE_BREAKS, '\n')
    .replace(EMPTY_LINES, '\n\n')
    .replace(INVISIBLE, character => {
      const code = character.codePointAt(0) ?? 0
      return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`
    })
}

/** The same on one line, truncated. */
export function escapeInvisibleLine(text: string, charactersMax = 300): string {
  const line = escapeInvisible(text).replaceAll(/\s+/g, ' ').trim()
  const characters = [...line]
  return characters.length <= charactersMax
    ? line
    : `${characters.slice(0, charactersMax).join('')}…`
}
