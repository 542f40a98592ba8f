import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { html } from 'ghtml'
import type { NextStep, Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { renderPage } from './layout.ts'

/** Makes errors pages for a browser. Programs get JSON, and so does everyone from an API. */
export function useErrorPages(app: ServiceApp, headers: () => Record<string, string>): void {
  app.decorate('renderErrorPage', ({ url, headers: { accept }, id }, refusal) => {
    if (isApiPath(url)) return null
    if (!acceptsHtml(accept)) return { headers: VARY, body: null }
    const body = renderErrorPage(refusal, { requestId: id })
    return { headers: { ...headers(), ...VARY }, body }
  })
}

/** Caches must not send the page to a program, nor the JSON to a browser. */
const VARY = { vary: 'accept' }

const API_PATHS = [
  ...[BASE_PATH, SESSION_API_PATH, '/mcp', '/oauth2', '/.well-known'],
  ...['/openapi.json', '/livez', '/readyz'],
]

function isApiPath(url: string): boolean {
  // A program that joins an address and a path by mistake asks for //api/v1.
  const path = (url.split(/[?#]/, 1)[0] ?? '').replace(/^\/{2,}/, '/')
  // A browser asks for paths only: other targets are a program's, such as `*`.
  return !path.startsWith('/') || API_PATHS.some(api => path === api || path.startsWith(`${api}/`))
}

/** Browsers name `text/html`; a wildcard alone is what programs send. */
export function acceptsHtml(accept = ''): boolean {
  return accept
    .toLowerCase()
    .split(',')
    .some(range => /^\s*text\/html\s*(;|$)/.test(range) && !/;\s*q=0(\.0*)?\s*(;|$)/.test(range))
}

interface ErrorPage {
  /** Where the person comes back to after the next step; by default the start page. */
  returnTo?: string
  requestId: string
}

/** Renders the page of a refused request and returns the document. */
export function renderErrorPage(
  { status, message, nextStep }: Refusal,
  { returnTo = '/', requestId }: ErrorPage,
): string {
  const title = TITLES[status] ?? 'Something went wrong'
  const body = html`<div class="card">
<h1>${title}</h1>
<p>${message}</p>
!${nextStep === undefined ? '' : nextStepLink(nextStep, returnTo)}
<p><a href="/">Go to your workspace</a></p>
<p class="hint">Request ID: <code>${requestId}</code></p>
</div>`
  return renderPage({ title, body })
}

function nextStepLink({ label, path }: NextStep, returnTo: string): string {
  const query = new URLSearchParams({ return_to: returnTo })
  return html`<p><a class="button" href="${path}?${query.toString()}">${label}</a></p>`
}

const TITLES: Record<number, string> = {
  400: 'Invalid request',
  401: 'Sign in first',
  403: 'Not allowed',
  404: 'Page not found',
  405: 'Not allowed here',
  429: 'Too many attempts',
  503: 'Temporarily unavailable',
}
