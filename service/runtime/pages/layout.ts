import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { html } from 'ghtml'

interface Page {
  /** Plain text. */
  title: string
  /** The HTML of `main`, built with `html` of ghtml, which escapes its values. */
  body: string
  /** The signed-in person; adds links to the account and sign-out. Plain text. */
  signedInAs?: string | undefined
  /** For lists. Forms are narrow. */
  isWide?: boolean
  /** The path of a script of this site. The page's headers must allow it. */
  script?: string
}

/**
 * Renders a page into the common layout and returns the document. It has no inline script and no
 * inline style, because the content security policy is strict. Only passkeys need a script.
 */
export function renderPage(page: Page): string {
  const { title, body, signedInAs, isWide = false, script } = page
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} · Signalbox</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="${MARK_PATH}" type="image/svg+xml">
<link rel="stylesheet" href="${STYLESHEET_PATH}">
!${script === undefined ? '' : html`<script type="module" src="${script}"></script>`}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="site">
<a class="brand" href="/">!${BRAND_MARK}Signalbox</a>
!${signedInAs === undefined ? '' : accountLinks(signedInAs)}
</header>
<main id="content"!${isWide ? ' class="wide"' : ''}>
!${body}
</main>
<footer class="site"><span>Signalbox respects the consent of your visitors.</span>
<a href="/docs">Documentation</a></footer>
</body>
</html>
`
}

/** `design/mark.svg` in the colors of the scheme. */
const BRAND_MARK = html`<svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
<rect width="32" height="32" rx="8" fill="var(--color-action)"/>
<circle cx="16" cy="10" r="4.5" fill="var(--color-action-text)"/>
<circle cx="16" cy="22" r="3.5" fill="none" stroke="var(--color-action-text)" stroke-width="2"/>
</svg>`

function accountLinks(signedInAs: string): string {
  return html`<a href="/account">${signedInAs}</a>
<form method="post" action="/sign-out"><button class="quiet small">Sign out</button></form>`
}

const HASH_CHARACTERS = 16

const TOKENS = fileURLToPath(import.meta.resolve('@signalbox/design/tokens.css'))
const PAGES = join(import.meta.dirname, 'pages.css')

/** The style sheet of all pages: the design tokens, then the rules that use them. */
export const STYLESHEET = [TOKENS, PAGES].map(path => readFileSync(path, 'utf8')).join('\n')
export const STYLESHEET_PATH = assetPath(STYLESHEET, 'css')

/** The icon of every page, of the dashboard too. */
export const MARK = readFileSync(
  fileURLToPath(import.meta.resolve('@signalbox/design/mark.svg')),
  'utf8',
)
export const MARK_PATH = assetPath(MARK, 'svg')

/** Runs in the browser, on the pages that create or use a passkey. */
export const PASSKEY_SCRIPT = readFileSync(join(import.meta.dirname, 'passkeys.js'), 'utf8')
export const PASSKEY_SCRIPT_PATH = assetPath(PASSKEY_SCRIPT, 'js')

/** The path of an asset changes with its content, so that browsers can cache it forever. */
function assetPath(content: string, extension: string): string {
  return `/assets/${hash('sha256', content).slice(0, HASH_CHARACTERS)}.${extension}`
}
