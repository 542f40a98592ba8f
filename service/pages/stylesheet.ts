import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HASH_CHARACTERS = 16

const TOKENS = fileURLToPath(import.meta.resolve('@signalbox/design/tokens.css'))
const PAGES = join(import.meta.dirname, 'pages.css')

/** The one style sheet of all pages: the design tokens, then the rules that use them. */
export const STYLESHEET = `${readFileSync(TOKENS, 'utf8')}\n${readFileSync(PAGES, 'utf8')}`

/** Its name changes with its content, so that browsers may keep it for ever. */
export const STYLESHEET_PATH = `/assets/${hash('sha256', STYLESHEET).slice(0, HASH_CHARACTERS)}.css`
