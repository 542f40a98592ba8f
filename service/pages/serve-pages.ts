import { html } from 'ghtml'
import { toRefusal } from '../http/error-responses.ts'
import { Refusal } from '../http/refusal.ts'
import { recordFailure } from '../http/request-log.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { acceptFormBodies } from './form-body.ts'
import { renderPage, STYLESHEET, STYLESHEET_PATH } from './layout.ts'

/**
 * Makes `app`, a part of the service of its own, one that serves pages: forms as bodies, the
 * headers of a page, every POST from our own origin only, and refusals as pages. Handlers return
 * the text of a document.
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
    const refusal = toRefusal(error, request.url)
    recordFailure(request, error, refusal)
    return reply
      .code(refusal.status)
      .headers({ ...pageHeaders(), ...refusal.headers, 'request-id': request.id })
      .send(refusalPage(refusal.status, refusal.message))
  })
}

/** A page for a request that was refused. Returns the whole document. */
function refusalPage(status: number, sentence: string): string {
  const title = TITLES[status] ?? 'That did not work'
  const body = html`<div class="card">
<h1>${title}</h1>
<p>${sentence}</p>
<p><a href="/workspaces">Go to your workspaces</a></p>
</div>`
  return renderPage({ title, body })
}

const TITLES: Record<number, string> = {
  403: 'This is not allowed',
  404: 'There is nothing here',
  429: 'Too many attempts',
  503: 'Not right now',
}

interface PageHeaders {
  /**
   * Origins that a form of this page may lead to besides ours: browsers hold a redirect after a
   * form to `form-action` as well (CSP Level 3, 4.2.2). Native schemes stand as `scheme:`.
   */
  formTargets?: readonly string[]
}

/** On every page, in place of the headers of the JSON interface. */
export function pageHeaders({ formTargets = [] }: PageHeaders = {}): Record<string, string> {
  const formAction = ["'self'", ...formTargets].join(' ')
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy':
      `default-src 'none'; style-src 'self'; img-src 'self' data:; form-action ${formAction}; ` +
      "frame-ancestors 'none'; base-uri 'none'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    // A link of a mail carries a token, which must not travel on to another site. Not
    // `no-referrer`: with it browsers write `Origin: null` on our own forms (Fetch standard, 3.2).
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}

/** What a browser says of where a request comes from. */
interface OriginHeaders {
  origin?: string | undefined
  'sec-fetch-site'?: string | string[] | undefined
}

/**
 * Refuses with 403 what a page of another site made the browser send. `Sec-Fetch-Site` is written
 * by the browser itself and cannot be forged by a page; older browsers send at least `Origin` with
 * every POST. A request that has neither comes from no browser and is refused too: nobody else has
 * a session's cookie. `publicOrigin` is ours; the Host header is never asked.
 */
export function requireSameOrigin(headers: OriginHeaders, publicOrigin: string): void {
  const { origin } = headers
  const site = headers['sec-fetch-site']
  const isOriginOurs = origin === undefined ? site !== undefined : origin === publicOrigin
  const isSiteOurs = site === undefined || site === 'same-origin'
  if (isOriginOurs && isSiteOurs) return
  throw new Refusal(403, 'This request came from another site; open the page here and try again.')
}

/** The style sheet of all pages. Its path changes with its content, so it is kept for a year. */
export function stylesheetRoute(app: ServiceApp): void {
  app.get(STYLESHEET_PATH, { config: { credential: 'none' } }, (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .type('text/css; charset=utf-8')
      .send(STYLESHEET),
  )
}
