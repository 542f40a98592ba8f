import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { isStoreUnavailable } from '../db/store-availability.ts'
import { Refusal } from './refusal.ts'
import { noteFailure } from './request-log.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

const STORE_RETRY_SECONDS = 2
const STORE_AWAY = 'The store is out of reach for now; try again.'

/** Of a route that does not say otherwise. */
export const BODY_BYTES_MAX = 65_536

/** Turns whatever was thrown into a `{message}` or `{message, errors}` answer, never HTML. */
export function answerFailure(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = isCutOff(request)
    ? new Refusal(400, 'The request ended before its body did.', { reason: 'cut_off' })
    : refusalOf(error, request.url, request.routeOptions.bodyLimit)
  noteFailure(request, error, refusal)
  const body = refusal.errors
    ? { message: refusal.message, errors: refusal.errors }
    : { message: refusal.message }
  reply
    .code(refusal.status)
    .headers({
      ...SECURITY_HEADERS,
      ...(isHopeless(refusal.status) ? { 'x-should-retry': 'false' } : {}),
      ...refusal.headers,
      'request-id': request.id,
    })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(body))
}

/** The caller hung up in the middle of its body, which is no fault of the store or of ours. */
function isCutOff({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete
}

/** The same request would get the same answer: a client's retry would only cost both of us. */
function isHopeless(status: number): boolean {
  return status < 500 && status !== 429
}

/**
 * What was thrown, as the refusal that a caller may see. `target` is the request's, and
 * `bodyBytesMax` its route's.
 */
export function refusalOf(error: Error, target: string, bodyBytesMax = BODY_BYTES_MAX): Refusal {
  if (error instanceof Refusal) return error
  if (isStoreUnavailable(error)) {
    return Refusal.unavailable(STORE_AWAY, STORE_RETRY_SECONDS, 'store_unavailable')
  }
  const { code = '', statusCode = 500 } = error as FastifyError
  // A whole URL (RFC 9112, 3.2.2) may have more wrong with it than its path.
  if (code === 'FST_ERR_BAD_URL' && !target.startsWith('/')) {
    return new Refusal(400, 'The request target is no valid URL.')
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new Refusal(413, `The body is larger than ${bodyBytesMax / 1_024} KiB.`)
  }
  const sentence = FRAMEWORK_REFUSALS[code]
  if (sentence) return new Refusal(sentence[0], sentence[1])
  if (code.startsWith('FST_') && statusCode < 500) {
    return new Refusal(statusCode, 'The request cannot be read.')
  }
  return new Refusal(500, 'Something went wrong on our side; the request id helps us find it.')
}

const FRAMEWORK_REFUSALS: Record<string, [status: number, message: string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'The body does not have its announced length.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, 'The body is empty.'],
  FST_ERR_BAD_URL: [400, 'The path is not validly percent-encoded.'],
  FST_ERR_MAX_PARAM_LENGTH: [404, 'There is nothing at this path.'],
  FST_ERR_ASYNC_CONSTRAINT: [400, 'The request cannot be routed.'],
}

interface RouteLister {
  addHook(name: 'onRoute', hook: (route: { method: string | string[]; url: string }) => void): void
}

/** 405 with `Allow` when the path exists for another method, else 404. */
export function answerUnknownRoute(app: RouteLister) {
  const routes: { pattern: RegExp; method: string }[] = []
  app.addHook('onRoute', ({ method, url }) => {
    const source = url
      .split('/')
      .map(part => (part.startsWith(':') ? '[^/]+' : RegExp.escape(part)))
      .join('/')
    const pattern = new RegExp(`^${source}$`)
    for (const name of [method].flat()) routes.push({ pattern, method: name })
  })

  return (request: FastifyRequest, reply: FastifyReply): void => {
    const path = pathOf(request.url)
    const allowed = routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    if (allowed.length === 0) {
      answerFailure(Refusal.notFound('There is nothing at this path.'), request, reply)
      return
    }
    const allow = [...new Set(allowed)].join(', ')
    const message = `${request.method} is not allowed here; use ${allow}.`
    answerFailure(new Refusal(405, message, { headers: { allow } }), request, reply)
  }
}

/** A proxy may write the whole URL (RFC 9112, 3.2.2); the router, too, looks at its path alone. */
function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? ''
}
