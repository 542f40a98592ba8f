import { toRefusal } from '../../runtime/http/error-responses.ts'
import { preflightHeaders } from '../../runtime/http/headers.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { RequestLimits } from '../../runtime/http/request-limits.ts'
import { recordFailure } from '../../runtime/http/request-log.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import type { AuthorizationServerOptions } from './authorization-server.ts'
import type { ChangeContext } from './connections.ts'
import type { AuthorizationServer } from './provider.ts'

/** Makes `app` return failures as `{error, error_description}`, readable by any page. */
export function useOauthErrorResponses(app: ServiceApp): void {
  app.setErrorHandler((error: Error, request, reply) => {
    const { status, headers, body } = toOauthError(error, request.url)
    recordFailure(request, error, toRefusal(error, request.url))
    reply.code(status).headers(headers).type('application/json; charset=utf-8')
    return reply.send(JSON.stringify(body))
  })
  app.addHook('onSend', async (_request, reply) => {
    reply.headers(CORS_HEADERS)
  })
}

/** Without credentials: the request itself carries everything that these endpoints need. */
export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Request-Id, Retry-After, WWW-Authenticate',
  'cross-origin-resource-policy': 'cross-origin',
} as const

/** For the preflight of a route that any page may call. */
export function corsPreflightHeaders(methods: readonly string[]): Record<string, string> {
  return preflightHeaders(methods, 'Authorization, Content-Type, MCP-Protocol-Version')
}

/** The library parses forms itself, with its own size limit. */
export function disableBodyParsing(app: ServiceApp): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request: unknown, _payload: unknown, done: Done) => done(null))
}

type Done = (error: Error | null) => void

/** The error response of RFC 6749, section 5.2. */
interface OauthErrorResponse {
  status: number
  headers: Record<string, string>
  body: { error: string; error_description: string }
}

/**
 * Maps any failure to an OAuth error. Its code tells the caller what to do: never to repeat an
 * `invalid_request`, and to retry a `temporarily_unavailable` after Retry-After.
 */
export function toOauthError(error: Error, url: string): OauthErrorResponse {
  const refusal = toRefusal(error, url)
  const { status, message, headers } = refusal
  const code = error instanceof OauthRefusal ? error.code : oauthErrorCode(refusal)
  const body = { error: code, error_description: message }
  return { status: oauthErrorStatus(status), headers, body }
}

/** A refusal with a specific OAuth error code. */
export class OauthRefusal extends Refusal {
  override name = 'OauthRefusal'
  readonly code: string

  constructor(code: string, message: string) {
    super(400, message)
    this.code = code
  }
}

function oauthErrorCode({ status }: Refusal): string {
  if (status === 429 || status === 503) return 'temporarily_unavailable'
  if (status === 401) return 'invalid_token'
  if (status === 403) return 'access_denied'
  return status >= 500 ? 'server_error' : 'invalid_request'
}

/** OAuth uses 400 for every other error of a caller. */
function oauthErrorStatus(status: number): number {
  const isAllowed = status >= 500 || [401, 403, 429].includes(status)
  return isAllowed ? status : 400
}

/** What this module depends on. */
export interface OauthOptions extends ChangeContext, AuthorizationServerOptions {
  limits: Pick<RequestLimits, 'registration' | 'oauth' | 'userCodes'>
  /** Receives failures of recording the last use, which must not fail the request. */
  onTouchError: (error: unknown) => void
}

/** What the routes of this module depend on. */
export interface OauthContext extends OauthOptions {
  /** Loaded on the first call, when the public origin is known. */
  provider: () => Promise<AuthorizationServer>
}
