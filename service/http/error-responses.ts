import type { Socket } from 'node:net'
import type {
  RawReplyDefaultExpression as Answer,
  FastifyError,
  FastifyReply,
  FastifyRequest,
  RawRequestDefaultExpression as Incoming,
} from 'fastify'
import { isStoreUnavailable } from '../db/database-errors.ts'
import { Refusal } from './refusal.ts'
import { type MalformedRequest, recordFailure } from './request-log.ts'
import { generateRequestId, SECURITY_HEADERS } from './response-headers.ts'

const STORE_RETRY_SECONDS = 2
const STORE_UNAVAILABLE = 'The store is out of reach for now; try again.'

/** Of a route that does not say otherwise. */
export const BODY_BYTES_MAX = 65_536

/** Turns whatever was thrown into a `{message}` or `{message, errors}` answer, never HTML. */
export function sendErrorResponse(
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const refusal = isRequestAborted(request)
    ? new Refusal(400, 'The request ended before its body did.', { reason: 'cut_off' })
    : toRefusal(error, request.url, request.routeOptions.bodyLimit)
  recordFailure(request, error, refusal)
  const body = refusal.errors
    ? { message: refusal.message, errors: refusal.errors }
    : { message: refusal.message }
  reply
    .code(refusal.status)
    .headers({
      ...SECURITY_HEADERS,
      ...(isNotRetryable(refusal.status) ? { 'x-should-retry': 'false' } : {}),
      ...refusal.headers,
      'request-id': request.id,
    })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(body))
}

/** The caller hung up in the middle of its body, which is no fault of the store or of ours. */
function isRequestAborted({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete
}

/** The same request would get the same answer: a client's retry would only cost both of us. */
function isNotRetryable(status: number): boolean {
  return status < 500 && status !== 429
}

/**
 * What was thrown, as the refusal that a caller may see. `target` is the request's, and
 * `bodyBytesMax` its route's.
 */
export function toRefusal(error: Error, target: string, bodyBytesMax = BODY_BYTES_MAX): Refusal {
  if (error instanceof Refusal) return error
  if (isStoreUnavailable(error)) {
    return Refusal.unavailable(STORE_UNAVAILABLE, STORE_RETRY_SECONDS, 'store_unavailable')
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
export function createNotFoundHandler(app: RouteLister) {
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
      sendErrorResponse(Refusal.notFound('There is nothing at this path.'), request, reply)
      return
    }
    const allow = [...new Set(allowed)].join(', ')
    const message = `${request.method} is not allowed here; use ${allow}.`
    sendErrorResponse(new Refusal(405, message, { headers: { allow } }), request, reply)
  }
}

/** A proxy may write the whole URL (RFC 9112, 3.2.2); the router, too, looks at its path alone. */
function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? ''
}

/** Node's codes for bytes that never become a request, where there is more to say than "broken". */
const MALFORMED_RESPONSES: Record<string, [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'The request headers are too large.',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Content Too Large', 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
}

/** The latest answer on each connection, which may not have been given yet. */
const pendingResponses = new WeakMap<Socket, Answer>()

/** To be called for every request, so that broken bytes behind it do not take its answer. */
export function trackResponse({ socket }: Incoming, answer: Answer): void {
  pendingResponses.set(socket, answer)
}

/**
 * Answers bytes that are no HTTP request, or not a whole one, and closes the connection. They never
 * reach a route, so the answer is written by hand, with the headers of every other answer. A whole
 * request that came before them on the same connection is answered first.
 */
export function respondToMalformedRequest(
  error: Error & { code?: string },
  socket: Socket,
  onRefused: (broken: MalformedRequest) => void = () => {},
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  const earlier = pendingResponses.get(socket)
  const isOwed = earlier?.req.complete && !earlier.writableFinished
  const answer = () => onRefused(writeMalformedResponse(error.code, socket))
  if (isOwed) earlier.once('finish', answer)
  else answer()
}

function writeMalformedResponse(code: string | undefined, socket: Socket): MalformedRequest {
  const [status, message] = MALFORMED_RESPONSES[code ?? ''] ?? [
    '400 Bad Request',
    'Not a valid HTTP request.',
  ]
  const body = JSON.stringify({ message })
  const requestId = generateRequestId()
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'request-id': requestId,
    ...(code === 'ERR_HTTP_REQUEST_TIMEOUT' ? {} : { 'x-should-retry': 'false' }),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`)
  return { requestId, status: Number.parseInt(status, 10) }
}
