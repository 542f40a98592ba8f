import { html } from 'ghtml'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { renderPage } from './layout.ts'
import { pageHeaders } from './serve-pages.ts'

/**
 * The page at the address that the start prints, for a person who opens it in a browser. Other
 * clients get the 404 that the contract documents.
 */
export function homeRoute(app: ServiceApp): void {
  app.get('/', { config: { credential: 'none' } }, (request, reply) => {
    reply.header('vary', 'accept')
    if (!acceptsHtml(request.headers.accept)) {
      throw Refusal.notFound('There is nothing at this path.')
    }
    return reply.headers(pageHeaders()).send(HOME_PAGE)
  })
}

/** Browsers name `text/html`; a wildcard alone is what programs send. */
function acceptsHtml(accept = ''): boolean {
  return accept
    .toLowerCase()
    .split(',')
    .some(range => /^\s*text\/html\s*(;|$)/.test(range) && !/;\s*q=0(\.0*)?\s*(;|$)/.test(range))
}

const HOME_PAGE = renderPage({
  title: 'Welcome',
  body: html`<div class="card">
<h1>Signalbox runs here</h1>
<p>It accepts conversion events, checks consent, and delivers them to advertising platforms.</p>
<p><a href="/sign-in">Sign in</a></p>
<ul>
<li><a href="/openapi.json">API contract (OpenAPI)</a></li>
<li><a href="/readyz">Health</a></li>
</ul>
</div>`,
})
