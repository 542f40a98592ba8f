import type { Socket } from 'node:net'
import { BODY_BYTES_MAX, describeBodyTooLarge } from '@signalbox/contract/errors.ts'
import type {
  FastifyError,
  FastifyReply,
  FastifyRequest,
  RawRequestDefaultExpression as Incoming,
  RawReplyDefaultExpression as Response,
} from 'fastify'
import { findStoreFailureCause } from '../db/database-errors.ts'
import { generateRequestId, SECURITY_HEADERS } from './headers.ts'
import { Refusal } from './refusal.ts'
import { type LoggedRequest, type MalformedRequest, recordFailure } from './request-log.ts'

const STORE_RETRY_SECONDS = 2
const STORE_UNAVAILABLE = 'The store is unavailable; try again.'
/** Reads still work, so "unavailable" would send an operator to the network. */
const STORE_FULL = 'The disk of the store is full, so nothing can be stored; try again later.'

declare module 'fastify' {
  interface FastifyInstance {
    /** Renders an error for a browser; see `pages/`. Returns null for a path of an API. */
    renderErrorPage?: ErrorPageRenderer
  }
}

/** The headers of an error and the document; a null body stands for the JSON of other clients. */
export type ErrorPageRenderer = (
  request: Pick<FastifyRequest, 'id' | 'url' | 'headers'>,
  refusal: Refusal,
) => { headers: Record<string, string>; body: string | null } | null

/** A request of the framework or of the short road. */
interface FailedRequest extends LoggedRequest, Pick<FastifyRequest, 'url' | 'headers'> {
  raw: Pick<Incoming, 'destroyed' | 'complete'>
  routeOptions: LoggedRequest['routeOptions'] & { bodyLimit?: number | undefined }
  server: { renderErrorPage?: ErrorPageRenderer }
}

interface ErrorWriter {
  code(status: number): this
  type(contentType: string): this
  headers(values: Record<string, string>): this
  send(body: string): unknown
}

/** Sends a thrown error as `{message}` or `{message, errors}`; to a browser as a page. */
export function sendErrorResponse(error: Error, request: FailedRequest, reply: ErrorWriter): void {
  const refusal = isRequestAborted(request)
    ? new Refusal(400, 'The request ended before its body was complete.', { reason: 'cut_off' })
    : toRefusal(error, request.url, request.routeOptions.bodyLimit)
  recordFailure(request, error, refusal)
  const body = refusal.errors
    ? { message: refusal.message, errors: refusal.errors }
    : { message: refusal.message }
  const page = request.server.renderErrorPage?.(request, refusal) ?? null
  reply
    .code(refusal.status)
    .type('application/json; charset=utf-8')
    .headers({
      ...SECURITY_HEADERS,
      ...(isNotRetryable(refusal.status) ? { 'x-should-retry': 'false' } : {}),
      ...refusal.headers,
      ...page?.headers,
      'request-id': request.id,
    })
    .send(page?.body ?? JSON.stringify(body))
}

/** The caller disconnected while sending its body, which is not an error of the service. */
function isRequestAborted({ raw }: FailedRequest): boolean {
  return raw.destroyed && !raw.complete
}

/** The same request would get the same response, so a client should not retry it. */
function isNotRetryable(status: number): boolean {
  return status < 500 && status !== 429
}

/**
 * Converts a thrown error to the refusal that the caller sees. `target` is the request target and
 * `bodyBytesMax` the limit of the route.
 */
export function toRefusal(error: Error, target: string, bodyBytesMax = BODY_BYTES_MAX): Refusal {
  if (error instanceof Refusal) return error
  const failureCause = findStoreFailureCause(error)
  if (failureCause !== null) {
    const isFull = failureCause === 'disk_full'
    const message = isFull ? STORE_FULL : STORE_UNAVAILABLE
    const reason = isFull ? 'store_disk_full' : 'store_unavailable'
    return Refusal.unavailable(message, STORE_RETRY_SECONDS, reason)
  }
  const { code = '', statusCode = 500 } = error as FastifyError
  // In an absolute-form target (RFC 9112, 3.2.2) more than the path can be invalid.
  if (code === 'FST_ERR_BAD_URL' && !target.startsWith('/')) {
    return new Refusal(400, 'The request target is not a valid URL.')
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new Refusal(413, describeBodyTooLarge(bodyBytesMax))
  }
  const known = FRAMEWORK_REFUSALS[code]
  if (known) return new Refusal(known[0], known[1])
  if (code.startsWith('FST_') && statusCode < 500) {
    return new Refusal(statusCode, 'The request cannot be read.')
  }
  return new Refusal(500, 'Something went wrong on our side; the request id helps us find it.')
}

const FRAMEWORK_REFUSALS: Record<string, [status: number, message: string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'The body does not match its Content-Length.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, 'The body is empty.'],
  FST_ERR_BAD_URL: [400, 'The path has invalid percent-encoding.'],
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
    const path = readPath(request.url)
    const allowed = routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    if (allowed.length === 0) {
      sendErrorResponse(Refusal.notFound(), request, reply)
      return
    }
    const allow = [...new Set(allowed)].join(', ')
    const message = `${request.method} is not allowed here; use ${allow}.`
    sendErrorResponse(new Refusal(405, message, { headers: { allow } }), request, reply)
  }
}

/** A proxy may send the absolute form (RFC 9112, 3.2.2); the router uses its path only, too. */
function readPath(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? ''
}

/** Node's codes for malformed requests that deserve more than a plain 400. */
const MALFORMED_RESPONSES: Record<string, [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'The request headers are too large.',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Content Too Large', 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
}

/** The latest response of each connection, which may not be finished yet. */
const pendingResponses = new WeakMap<Socket, Response>()

/** Call this for every request, so that malformed bytes behind it do not replace its response. */
export function trackResponse({ socket }: Incoming, response: Response): void {
  pendingResponses.set(socket, response)
}

/**
 * Responds to bytes that are not a complete HTTP request and closes the connection. They never
 * reach a route, so the response is written by hand, with the headers of every response. A complete
 * request before them on the same connection is answered first.
 */
export function respondToMalformedRequest(
  error: Error & { code?: string },
  socket: Socket,
  onRefused: (request: MalformedRequest) => void = () => {},
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  const earlier = pendingResponses.get(socket)
  const isPending = earlier?.req.complete && !earlier.writableFinished
  const respond = () => onRefused(writeMalformedResponse(error.code, socket))
  if (isPending) earlier.once('finish', respond)
  else respond()
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
