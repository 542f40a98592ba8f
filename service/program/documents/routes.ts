import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatDocument } from '@signalbox/contract/print-openapi.ts'
import { type ContractKeys, publicKeySet } from '@signalbox/contract/signing-key.ts'
import { html } from 'ghtml'
import Type from 'typebox'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../../runtime/http/validator.ts'
import { pageHeaders } from '../../runtime/pages/serve-pages.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import {
  createSignedContract,
  type DocsPage,
  type DocsSection,
  type DocsSite,
  fillAddresses,
  formatSecurityTxt,
  isEtagMatch,
  joinPagesForAgents,
  listPagesForAgents,
  PUBLIC_HEADERS,
  readDocsSite,
  type TextWithEtag,
  withEtag,
} from './published-documents.ts'

export interface DocumentsContext {
  contractKeys: ContractKeys
  /** Without a contact, there is no security.txt. */
  settings: Pick<Settings, 'securityContact'>
  now: () => Date
  publicOrigin: () => string
}

const TEXT_FOLDER = join(import.meta.dirname, 'texts')
const TEXT_TYPE = 'text/plain; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

/** The published documents, at the origin and not below the base path. */
export function documentRoutes(app: ServiceApp, context: DocumentsContext): void {
  const { contractKeys, settings, now, publicOrigin } = context
  const contract = createSignedContract(contractKeys.current)
  serveDocument(app, {
    url: '/openapi.json',
    type: JSON_TYPE,
    read: () => contract(publicOrigin()),
  })
  const keys = withEtag(formatDocument(publicKeySet(contractKeys)))
  serveDocument(app, { url: '/.well-known/jwks.json', type: JSON_TYPE, read: () => keys })
  const fill = createFiller(publicOrigin)
  serveAgentGuides(app, fill)
  docsRoutes(app, fill)
  const contact = settings.securityContact
  if (contact === undefined) return
  serveDocument(app, {
    url: '/.well-known/security.txt',
    type: TEXT_TYPE,
    read: () => withEtag(formatSecurityTxt({ contact, origin: publicOrigin(), at: now() })),
  })
}

/** What programs read first: how to get access, what there is, and all of the documentation. */
function serveAgentGuides(app: ServiceApp, fill: FillText): void {
  const [access, index] = ['auth.md', 'llms.txt'].map(file =>
    readFileSync(join(TEXT_FOLDER, file), 'utf8'),
  )
  serveDocument(app, {
    url: '/auth.md',
    type: 'text/markdown; charset=utf-8',
    read: () => fill('/auth.md', () => access ?? ''),
  })
  serveDocument(app, {
    url: '/llms.txt',
    type: TEXT_TYPE,
    read: () => fill('/llms.txt', () => `${index}${listPagesForAgents(requireDocs())}`),
  })
  serveDocument(app, {
    url: '/llms-full.txt',
    type: TEXT_TYPE,
    read: () => fill('/llms-full.txt', () => joinPagesForAgents(requireDocs())),
  })
}

/** The origin is known when the port is, so each text is filled when it is first read. */
function createFiller(publicOrigin: () => string): FillText {
  const filled = new Map<string, TextWithEtag>()
  return (key, text) => {
    const known = filled.get(key)
    if (known) return known
    const document = withEtag(fillAddresses(text(), publicOrigin()))
    filled.set(key, document)
    return document
  }
}

interface ServedDocument {
  url: string
  type: string
  read: () => TextWithEtag | Promise<TextWithEtag>
}

/** GET and, by Fastify, HEAD. Replies 304 when the caller already has these bytes. */
function serveDocument(app: ServiceApp, { url, type, read }: ServedDocument): void {
  app.get(url, { config: { credential: 'none' } }, async ({ headers }, reply) => {
    const { text, etag } = await read()
    reply.headers({ ...PUBLIC_HEADERS, etag })
    if (isEtagMatch(headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.type(type).send(text)
  })
}

/** Fills the addresses of this installation in, and keeps the result under its key. */
type FillText = (key: string, text: () => string) => TextWithEtag

const searchValidator = new Validator(Type.Object({ q: Type.Optional(Type.String()) }))

const PUBLIC = { config: { credential: 'none' } } as const

/**
 * The documentation at /docs: each page as HTML and, with `.md` after the same address, as
 * Markdown; and a search that needs no script.
 */
function docsRoutes(app: ServiceApp, fill: FillText): void {
  for (const url of ['/docs', '/docs.md', '/docs/:name'] as const) {
    app.get(url, PUBLIC, ({ params, headers }, reply) => {
      const path = url.replace(':name', () => readPathParameters(params, 'name').name)
      const isMarkdown = path.endsWith('.md')
      const page = findPage(path)
      if (!page && isMarkdown) throw Refusal.notFound('There is no such page.')
      if (!page) {
        return reply.code(404).headers(pageHeaders()).send(renderMissingPage(requireDocs()))
      }
      const { text, etag } = fill(path, () => (isMarkdown ? page.markdown : page.html))
      reply.headers({ ...(isMarkdown ? MARKDOWN_HEADERS : HTML_HEADERS), etag })
      if (!isEtagMatch(headers['if-none-match'], etag)) return reply.send(text)
      return reply.removeHeader('content-type').code(304).send()
    })
  }
  app.get('/docs/assets/:file', PUBLIC, (request, reply) => {
    const { file } = readPathParameters(request.params, 'file')
    const { path, text } = requireDocs().stylesheet
    if (path !== `/docs/assets/${file}`) throw Refusal.notFound('There is no such file.')
    reply.header('cache-control', 'public, max-age=31536000, immutable')
    return reply.type('text/css; charset=utf-8').send(text)
  })
  app.get('/docs/search', PUBLIC, (request, reply) => {
    const { q = '' } = searchValidator.pickValid(request.query)
    const query = q.trim().slice(0, QUERY_CHARACTERS_MAX)
    return reply.headers(pageHeaders()).send(renderSearchPage(requireDocs(), query))
  })
}

const HTML_HEADERS = { ...pageHeaders(), 'cache-control': PUBLIC_HEADERS['cache-control'] }
const MARKDOWN_HEADERS = { ...PUBLIC_HEADERS, 'content-type': 'text/markdown; charset=utf-8' }

/** The page at a path, as HTML or, with `.md`, as Markdown. */
function findPage(path: string): DocsPage | undefined {
  const name = path.replace(/^\/docs\/?|\.md$/g, '')
  return requireDocs().pages.find(page => page.name === name)
}

function requireDocs(): DocsSite {
  const site = readDocsSite()
  if (site) return site
  const message = 'The documentation is not built. Run `npm run docs:build` and reload.'
  throw Refusal.unavailable(message, 60)
}

const QUERY_CHARACTERS_MAX = 100
const TERMS_MAX = 8
const RESULTS_MAX = 20
const EXCERPT_CHARACTERS = 180

interface FoundSection extends DocsSection {
  score: number
  excerpt: string
}

/** The page with the sections that contain every word of the query, the best first. */
function renderSearchPage(site: DocsSite, query: string): string {
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
function renderMissingPage(site: DocsSite): string {
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
