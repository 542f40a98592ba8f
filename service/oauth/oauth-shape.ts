import { refusalOf } from '../http/failure-answers.ts'
import { noteFailure } from '../http/request-log.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { oauthFailure } from './oauth-failure.ts'

/** Failures of the routes of `app` as `{error, error_description}`, readable by any page. */
export function answerInOauthShape(app: ServiceApp): void {
  app.setErrorHandler((error: Error, request, reply) => {
    const { status, headers, body } = oauthFailure(error, request.url)
    noteFailure(request, error, refusalOf(error, request.url))
    reply.code(status).headers(headers).type('application/json; charset=utf-8')
    return reply.send(JSON.stringify(body))
  })
  app.addHook('onSend', async (_request, reply) => {
    reply.headers(OPEN_TO_PAGES)
  })
}

/** Never with credentials: what these endpoints ask for stands in the request itself. */
export const OPEN_TO_PAGES = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Request-Id, Retry-After, WWW-Authenticate',
  'cross-origin-resource-policy': 'cross-origin',
} as const

const PREFLIGHT_SECONDS = 7_200

/** On the answer to a preflight of a route that any page may call. */
export function preflightHeaders(methods: readonly string[]): Record<string, string> {
  return {
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': 'Authorization, Content-Type, MCP-Protocol-Version',
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  }
}

/** The library reads forms itself, with a limit of its own. */
export function leaveBodiesToTheLibrary(app: ServiceApp): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request: unknown, _payload: unknown, done: Done) => done(null))
}

type Done = (error: Error | null) => void
