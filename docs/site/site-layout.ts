import { html } from 'ghtml'
import type { Heading } from './render-markdown.ts'
import { API_PAGE, PAGE_GROUPS, REFERENCE_GROUP, SCHEMAS_PAGE } from './site-pages.ts'

export interface NavigationGroup {
  title: string
  links: { name: string; title: string }[]
}

interface PageDocument {
  /** The name in the address; null for a page that is not in the navigation. */
  name: string | null
  title: string
  /** The HTML of the article. */
  body: string
  headings?: readonly Heading[]
  stylesheetPath: string
  navigation: readonly NavigationGroup[]
  /** The address of the Markdown form. */
  markdownPath?: string
}

/** The groups of the navigation, with the title of each page. */
export function createNavigation(titleOf: (name: string) => string): NavigationGroup[] {
  const groups = PAGE_GROUPS.map(({ title, pages }) => ({
    title,
    links: pages.map(({ name }) => ({ name, title: titleOf(name) })),
  }))
  const reference = [API_PAGE, SCHEMAS_PAGE].map(({ name, title }) => ({ name, title }))
  return [...groups, { title: REFERENCE_GROUP, links: reference }]
}

/** One page of the site as a document. It needs no script, as the content security policy asks. */
export function renderDocument(page: PageDocument): string {
  const { name, title, body, headings = [], stylesheetPath, navigation } = page
  const links = navigationLinks(navigation, name)
  const sections = headings.filter(({ depth }) => depth === 2)
  const heading = name === '' ? 'Signalbox documentation' : `${title} · Signalbox documentation`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${heading}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylesheetPath}">
!${alternateLink(page.markdownPath)}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="site">
<a class="brand" href="/docs">Signalbox <span>Docs</span></a>
<form role="search" action="/docs/search">
<input type="search" name="q" aria-label="Search the documentation" placeholder="Search" required
 maxlength="100">
<button>Search</button>
</form>
<a href="/workspaces">Your workspaces</a>
</header>
<div class="columns">
<details class="menu"><summary>All pages</summary>
<nav aria-label="All pages">!${links}</nav></details>
<nav class="pages" aria-label="Documentation">!${links}</nav>
<main id="content">
<article>
!${body}
</article>
!${neighborLinks(navigation, name)}
!${markdownLink(page.markdownPath)}
</main>
!${sections.length < 2 ? '' : sectionLinks(sections)}
</div>
</body>
</html>
`
}

function alternateLink(path?: string): string {
  if (path === undefined) return ''
  return html`<link rel="alternate" type="text/markdown" href="${path}">`
}

function markdownLink(path?: string): string {
  if (path === undefined) return ''
  return html`<p class="quiet"><a href="${path}">This page as Markdown</a></p>`
}

function navigationLinks(groups: readonly NavigationGroup[], current: string | null): string {
  return groups
    .map(({ title, links }) => {
      const items = links.map(
        link => html`<li><a href="/docs/${link.name}"
!${link.name === current ? 'aria-current="page"' : ''}>${link.title}</a></li>`,
      )
      return html`<p>${title}</p><ul>!${items.join('')}</ul>`
    })
    .join('')
}

/** The page before and the page after this one, in the order of the navigation. */
function neighborLinks(groups: readonly NavigationGroup[], name: string | null): string {
  const links = groups.flatMap(group => group.links)
  const at = links.findIndex(link => link.name === name)
  if (at < 0) return ''
  const [before, after] = [links[at - 1], links[at + 1]]
  const previous = before && html`<a href="/docs/${before.name}" rel="prev">← ${before.title}</a>`
  const next = after && html`<a href="/docs/${after.name}" rel="next">${after.title} →</a>`
  return html`<nav class="neighbors" aria-label="Next and previous page">
!${previous ?? '<span></span>'}!${next ?? ''}</nav>`
}

function sectionLinks(sections: readonly Heading[]): string {
  const items = sections.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)
  return html`<nav class="sections" aria-label="On this page">
<p>On this page</p><ul>!${items.join('')}</ul></nav>`
}
