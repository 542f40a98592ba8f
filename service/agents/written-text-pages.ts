import { html } from 'ghtml'
import { visibleLine, visibleText } from './visible-text.ts'

/**
 * A name that an agent or a platform wrote, within a sentence of ours: it cannot turn the direction
 * of the words around it. Returns HTML.
 */
export function writtenName(name: string): string {
  return html`<bdi>${visibleLine(name)}</bdi>`
}

/** A text that somebody else wrote, set apart from ours. Returns HTML. */
export function writtenText(text: string): string {
  return html`<blockquote class="written" dir="auto">${visibleText(text)}</blockquote>`
}

/** Its beginning, on one line. Returns HTML. */
export function writtenBeginning(text: string): string {
  return html`<blockquote class="written" dir="auto">${visibleLine(text)}</blockquote>`
}
