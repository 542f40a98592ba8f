import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { html } from 'ghtml'
import { toRefusal } from '../http/error-responses.ts'
import { type NextStep, Refusal } from '../http/refusal.ts'
import { recordFailure } from '../http/request-log.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { acceptFormBodies, FORM_BYTES_MAX, safeReturnPath } from './form-body.ts'
import {
  MARK,
  MARK_PATH,
  PASSKEY_SCRIPT,
  PASSKEY_SCRIPT_PATH,
  renderPage,
  STYLESHEET,
  STYLESHEET_PATH,
} from './layout.ts'

/**
 * Makes `app`, an encapsulated part of the service, serve pages: it accepts forms, sends the
 * headers of a page, accepts POST from its own origin only, and renders refusals as pages. Handlers
 * return the text of a document.
 */
export function servePages(app: ServiceApp, publicOrigin: () => string): void {
  acceptFormBodies(app)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(pageHeaders())
    if (request.method === 'GET' || request.method === 'HEAD') return done()
    try {
      requireSameOrigin(request.headers, publicOrigin())
      done()
    } catch (error) {
      done(error as Error)
    }
  })
  app.setErrorHandler((error: Error, request, reply) => {
    const refusal = toRefusal(error, request.url, FORM_BYTES_MAX)
    recordFailure(request, error, refusal)
    const returnTo = findPagePath(request, publicOrigin())
    return reply
      .code(refusal.status)
      .headers({ ...pageHeaders(), ...refusal.headers, 'request-id': request.id })
      .send(renderErrorPage(refusal, { returnTo, requestId: request.id }))
  })
}

interface SentForm {
  method: string
  url: string
  headers: { referer?: string | undefined }
}

/** The requested page, or the page whose form was submitted. */
function findPagePath({ method, url, headers }: SentForm, publicOrigin: string): string {
  if (method === 'GET') return safeReturnPath(url)
  const { referer = '' } = headers
  return safeReturnPath(
    referer.startsWith(`${publicOrigin}/`) && referer.slice(publicOrigin.length),
  )
}

interface PageHeaders {
  /**
   * Other origins to which a form of this page may redirect, because browsers apply `form-action`
   * to redirects as well (CSP Level 3, 4.2.2). Native schemes are written as `scheme:`.
   */
  formTargets?: readonly string[]
  /** Lets the page run the scripts of this site. */
  hasScript?: boolean
  /** Lets the page call this site from its scripts, and add style elements that name the nonce. */
  app?: { styleNonce: string }
}

/** The headers of every page, instead of those of the JSON API. */
export function pageHeaders(page: PageHeaders = {}): Record<string, string> {
  const { formTargets = [], hasScript = false, app } = page
  const formAction = ["'self'", ...formTargets].join(' ')
  const scripts = hasScript || app ? "script-src 'self'; " : ''
  // The app builds no elements from texts; the browser refuses it if a change ever does.
  const trustedTypes = app ? "require-trusted-types-for 'script'; trusted-types default; " : ''
  const connections = app ? "connect-src 'self'; " : ''
  const styles = app ? `'self' 'nonce-${app.styleNonce}'` : "'self'"
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy':
      `default-src 'none'; ${scripts}${trustedTypes}${connections}style-src ${styles}; ` +
      "img-src 'self' data:; " +
      `form-action ${formAction}; ` +
      "frame-ancestors 'none'; base-uri 'none'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    // A link in an email contains a token, which must not reach another site. Not `no-referrer`:
    // with it browsers send `Origin: null` with our own forms (Fetch standard, 3.2).
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}

interface OriginHeaders {
  origin?: string | undefined
  'sec-fetch-site'?: string | string[] | undefined
}

/**
 * Refuses cross-site requests with 403 (CSRF). The browser sets `Sec-Fetch-Site`, and a page cannot
 * forge it; older browsers send at least `Origin` with every POST. A request with neither does not
 * come from a browser and is refused too. `publicOrigin` is compared, never the Host header.
 */
export function requireSameOrigin(headers: OriginHeaders, publicOrigin: string): void {
  const { origin } = headers
  const site = headers['sec-fetch-site']
  const isOriginOurs = origin === undefined ? site !== undefined : origin === publicOrigin
  const isSiteOurs = site === undefined || site === 'same-origin'
  if (isOriginOurs && isSiteOurs) return
  throw new Refusal(403, 'This request came from another site; open the page here and try again.')
}

/** Serves the style sheet and the scripts of the pages, cacheable for a year. */
export function assetRoutes(app: ServiceApp): void {
  for (const { path, type, content } of ASSETS) {
    app.get(path, { config: { credential: 'none' } }, (_request, reply) =>
      reply
        .header('cache-control', 'public, max-age=31536000, immutable')
        .type(`${type}; charset=utf-8`)
        .send(content),
    )
  }
}

const ASSETS = [
  { path: STYLESHEET_PATH, type: 'text/css', content: STYLESHEET },
  { path: PASSKEY_SCRIPT_PATH, type: 'text/javascript', content: PASSKEY_SCRIPT },
  { path: MARK_PATH, type: 'image/svg+xml', content: MARK },
] as const

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
