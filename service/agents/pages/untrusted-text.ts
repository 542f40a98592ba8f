import { html } from 'ghtml'

/**
 * A name that an agent or a platform wrote, within a sentence of ours: it cannot turn the direction
 * of the words around it. Returns HTML.
 */
export function untrustedName(name: string): string {
  return html`<bdi>${escapeInvisibleLine(name)}</bdi>`
}

/** A text that somebody else wrote, set apart from ours. Returns HTML. */
export function untrustedText(text: string): string {
  return html`<blockquote class="written" dir="auto">${escapeInvisible(text)}</blockquote>`
}

/** Its beginning, on one line. Returns HTML. */
export function untrustedExcerpt(text: string): string {
  return html`<blockquote class="written" dir="auto">${escapeInvisibleLine(text)}</blockquote>`
}

/**
 * What hides or changes the direction of what stands beside it, but for the two joiners that
 * scripts and emoji are written with.
 */
const INVISIBLE = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu
const LINE_BREAKS = /\r\n?|[\u0085\u2028\u2029]/g
const EMPTY_LINES = /\n{3,}/g

/**
 * A text that somebody else wrote, as a person who decides on it has to see it: nothing in it
 * stays hidden. A character that would not be seen is written as its number, `[U+202E]`.
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

/** The same on one line, cut where nobody reads on. */
export function escapeInvisibleLine(text: string, charactersMax = 300): string {
  const line = escapeInvisible(text).replaceAll(/\s+/g, ' ').trim()
  const characters = [...line]
  return characters.length <= charactersMax
    ? line
    : `${characters.slice(0, charactersMax).join('')}…`
}
