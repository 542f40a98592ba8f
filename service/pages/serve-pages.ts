import { html } from 'ghtml'
import { refusalOf } from '../http/failure-answers.ts'
import { noteFailure } from '../http/request-log.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { readForms } from './form-body.ts'
import { page } from './layout.ts'
import { pageHeaders } from './page-headers.ts'
import { requireSameOrigin } from './require-same-origin.ts'

/**
 * Makes `app`, a part of the service of its own, one that serves pages: forms as bodies, the
 * headers of a page, every POST from our own origin only, and refusals as pages. Handlers return
 * the text of a document.
 */
export function servePages(app: ServiceApp, publicOrigin: () => string): void {
  readForms(app)
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
    const refusal = refusalOf(error, request.url)
    noteFailure(request, error, refusal)
    return reply
      .code(refusal.status)
      .headers({ ...pageHeaders(), ...refusal.headers, 'request-id': request.id })
      .send(refusalPage(refusal.status, refusal.message))
  })
}

/** A page for a request that was refused. Returns the whole document. */
export function refusalPage(status: number, sentence: string): string {
  const title = TITLES[status] ?? 'That did not work'
  const body = html`<div class="card">
<h1>${title}</h1>
<p>${sentence}</p>
<p><a href="/workspaces">Go to your workspaces</a></p>
</div>`
  return page({ title, body })
}

const TITLES: Record<number, string> = {
  403: 'This is not allowed',
  404: 'There is nothing here',
  429: 'Too many attempts',
  503: 'Not right now',
}
