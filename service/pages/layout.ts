import { html } from 'ghtml'
import { STYLESHEET_PATH } from './stylesheet.ts'

export interface Page {
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
export function page({ title, body, signedInAs, isWide = false }: Page): string {
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
!${signedInAs === undefined ? '' : personLinks(signedInAs)}
</header>
<main id="content"!${isWide ? ' class="wide"' : ''}>
!${body}
</main>
<footer class="site"><span>Signalbox keeps to what your visitors decide.</span></footer>
</body>
</html>
`
}

function personLinks(signedInAs: string): string {
  return html`<a href="/account">${signedInAs}</a>
<form method="post" action="/sign-out"><button class="quiet small">Sign out</button></form>`
}
