import Type from 'typebox'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../../runtime/http/validator.ts'
import { pageHeaders } from '../../runtime/pages/serve-pages.ts'
import { QUERY_CHARACTERS_MAX, renderMissingPage, renderSearchPage } from './docs-search-page.ts'
import { type DocsPage, type DocsSite, readDocsSite } from './docs-site.ts'
import { isEtagMatch, PUBLIC_HEADERS, type TextWithEtag } from './published-documents.ts'

/** Fills the addresses of this installation in, and keeps the result under its key. */
export type FillText = (key: string, text: () => string) => TextWithEtag

const searchValidator = new Validator(Type.Object({ q: Type.Optional(Type.String()) }))

const PUBLIC = { config: { credential: 'none' } } as const

/**
 * The documentation at /docs: each page as HTML and, with `.md` after the same address, as
 * Markdown; and a search that needs no script.
 */
export function docsRoutes(app: ServiceApp, fill: FillText): void {
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

export function requireDocs(): DocsSite {
  const site = readDocsSite()
  if (site) return site
  const message = 'The documentation is not built. Run `npm run docs:build` and reload.'
  throw Refusal.unavailable(message, 60)
}
