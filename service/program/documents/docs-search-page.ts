import { html } from 'ghtml'
import type { DocsSection, DocsSite } from './docs-site.ts'

export const QUERY_CHARACTERS_MAX = 100
const TERMS_MAX = 8
const RESULTS_MAX = 20
const EXCERPT_CHARACTERS = 180

interface FoundSection extends DocsSection {
  score: number
  excerpt: string
}

/** The page with the sections that contain every word of the query, the best first. */
export function renderSearchPage(site: DocsSite, query: string): string {
  const found = searchSections(site.sections, query)
  const items = found.map(
    ({ path, title, heading, excerpt }) => html`<li>
<a href="${path}">${heading === title ? title : `${title}: ${heading}`}</a>
<p class="quiet">${excerpt}</p></li>`,
  )
  const results = html`<ol class="results">!${items.join('\n')}</ol>`
  const body = html`<h1>!${query === '' ? 'Search' : html`Results for “${query}”`}</h1>
!${found.length > 0 ? results : NOTHING_FOUND}`
  return fillFrame(site, 'Search', body)
}

const NOTHING_FOUND = html`<p>No page has all of these words. Try fewer of them, or look at
<a href="/docs">all pages</a>.</p>`

/** The page for an address that the documentation does not have. */
export function renderMissingPage(site: DocsSite): string {
  const body = html`<h1>Page not found</h1>
<p>The documentation has no page at this address. Search for it, or look at
<a href="/docs">all pages</a>.</p>`
  return fillFrame(site, 'Page not found', body)
}

function fillFrame({ frame }: DocsSite, title: string, body: string): string {
  return frame.replace('{title}', () => title).replace('{body}', () => body)
}

function searchSections(sections: readonly DocsSection[], query: string): FoundSection[] {
  const terms = readTerms(query)
  if (terms.length === 0) return []
  return sections
    .map(section => ({ ...section, score: scoreSection(section, terms) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, RESULTS_MAX)
    .map(section => ({ ...section, excerpt: excerptOf(section.text, terms) }))
}

/** Words of a question that say nothing about its answer. */
const COMMON_WORDS = new Set(
  'a an and are can do does for how i in is it my of on or the to what when where why with'.split(
    ' ',
  ),
)

/** The words of a query, without common words unless it has no others. */
function readTerms(query: string): string[] {
  const words = query
    .toLowerCase()
    .replace(/[?!.]+$/, '')
    .split(/\s+/)
    .filter(Boolean)
  const rare = words.filter(word => !COMMON_WORDS.has(word))
  return (rare.length > 0 ? rare : words).slice(0, TERMS_MAX)
}

const HEADING_POINTS = 10
const TITLE_POINTS = 4
const TEXT_POINTS = 1

/** Zero unless every term is in the section. A heading counts most. */
function scoreSection({ heading, title, text }: DocsSection, terms: readonly string[]): number {
  const parts = [
    { content: heading.toLowerCase(), points: HEADING_POINTS },
    { content: title.toLowerCase(), points: TITLE_POINTS },
    { content: text.toLowerCase(), points: TEXT_POINTS },
  ]
  const scores = terms.map(term =>
    parts.reduce((sum, { content, points }) => sum + (content.includes(term) ? points : 0), 0),
  )
  return scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score, 0)
}

/** The text around the first term, cut at words. */
function excerptOf(text: string, terms: readonly string[]): string {
  const lower = text.toLowerCase()
  const at = terms.map(term => lower.indexOf(term)).find(index => index >= 0) ?? 0
  const start = at < EXCERPT_CHARACTERS / 2 ? 0 : text.indexOf(' ', at - EXCERPT_CHARACTERS / 2) + 1
  const excerpt = text.slice(start, start + EXCERPT_CHARACTERS)
  const isCut = start + EXCERPT_CHARACTERS < text.length
  return `${start > 0 ? '… ' : ''}${isCut ? `${excerpt.replace(/\s\S*$/, '')} …` : excerpt}`
}
