import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { html } from 'ghtml'

interface Page {
  /** In the tab and in the history; plain text. */
  title: string
  /** HTML of what stands in `main`, made by `html` of ghtml, which escapes what it is given. */
  body: string
  /** Who is signed in: then the header has ways to their pages and out. Plain text. */
  signedInAs?: string | undefined
  /** For lists; forms are narrow. */
  isWide?: boolean
}

/**
 * The frame of every page that the server renders. No script and nothing inline, so that it works
 * without JavaScript and under a policy that allows neither. Returns the whole document.
 */
export function renderPage({ title, body, signedInAs, isWide = false }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} · Signalbox</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${STYLESHEET_PATH}">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="site">
<a class="brand" href="/workspaces">Signalbox</a>
!${signedInAs === undefined ? '' : accountLinks(signedInAs)}
</header>
<main id="content"!${isWide ? ' class="wide"' : ''}>
!${body}
</main>
<footer class="site"><span>Signalbox keeps to what your visitors decide.</span></footer>
</body>
</html>
`
}

function accountLinks(signedInAs: string): string {
  return html`<a href="/account">${signedInAs}</a>
<form method="post" action="/sign-out"><button class="quiet small">Sign out</button></form>`
}

const HASH_CHARACTERS = 16

const TOKENS = fileURLToPath(import.meta.resolve('@signalbox/design/tokens.css'))
const PAGES = join(import.meta.dirname, 'pages.css')

/** The one style sheet of all pages: the design tokens, then the rules that use them. */
export const STYLESHEET = `${readFileSync(TOKENS, 'utf8')}\n${readFileSync(PAGES, 'utf8')}`

/** Its name changes with its content, so that browsers may keep it for ever. */
export const STYLESHEET_PATH = `/assets/${hash('sha256', STYLESHEET).slice(0, HASH_CHARACTERS)}.css`
