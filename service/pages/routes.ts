import type { ServiceApp } from '../http/service-app.ts'
import { STYLESHEET, STYLESHEET_PATH } from './stylesheet.ts'

/** The style sheet of all pages. Its path changes with its content, so it is kept for a year. */
export function pageRoutes(app: ServiceApp): void {
  app.get(STYLESHEET_PATH, { config: { credential: 'none' } }, (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .type('text/css; charset=utf-8')
      .send(STYLESHEET),
  )
}
