import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { html } from 'ghtml'
import { assetPath } from './layout.ts'

/** Runs in the browser, on the approval pages, which work without it. */
export const SHORTCUT_SCRIPT = readFileSync(
  join(import.meta.dirname, 'shortcuts-script.js'),
  'utf8',
)
export const SHORTCUT_SCRIPT_PATH = assetPath(SHORTCUT_SCRIPT, 'js')

const KEYS = {
  queue: ['j', 'next proposal', 'k', 'previous', 'a or r', 'open it'],
  proposal: ['j', 'next change', 'k', 'previous', 'a', 'approve', 'r', 'reject'],
} as const

/**
 * Names the shortcuts, with a button that turns them off: a letter that acts alone is in the way of
 * people who dictate (WCAG 2.2, 2.1.4). The script shows it. Returns HTML.
 */
export function shortcutHint(page: keyof typeof KEYS): string {
  const keys = KEYS[page]
    .map((text, index) => (index % 2 === 0 ? html`<kbd>${text}</kbd>` : html`${text}`))
    .join(' ')
  return html`<p class="hint shortcuts" data-shortcuts hidden><span>Shortcuts: !${keys}.</span>
<button type="button" class="quiet small"></button></p>`
}
