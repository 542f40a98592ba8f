import type {
  FastifyBaseLogger,
  FastifyRequest,
  RawRequestDefaultExpression as Incoming,
  RawReplyDefaultExpression as Response,
} from 'fastify'
import { type ErrorPageRenderer, sendErrorResponse } from './error-responses.ts'
import { findRequestHeadError, generateRequestId, securityHeadersOf } from './headers.ts'
import { Refusal } from './refusal.ts'
import { readJsonBody } from './request-body.ts'

/** A request on the short road: the members of Fastify's request that handlers and hooks read. */
export interface RoadRequest
  extends Pick<FastifyRequest, 'id' | 'method' | 'url' | 'headers' | 'query' | 'ip'> {
  raw: Incoming
  body: unknown
  bodyBytes: number
  routeOptions: { url: string; config: object; bodyLimit: number }
  log: FastifyBaseLogger
  server: { renderErrorPage?: ErrorPageRenderer }
}

/** What a hook decides about a request of the short road. False leaves it to the framework. */
type RoadGate = (request: RoadRequest, reply: RoadReply) => boolean
type RoadErrorHook = (request: RoadRequest, error: Error) => void
type RoadHandler = (request: RoadRequest, reply: RoadReply) => Promise<unknown>

/** Follows the requests that are answered here, as hooks of the framework do. */
interface RoadObserver {
  begin(request: RoadRequest): void
  /** Calls `handle`, in a context of its own. */
  run(request: RoadRequest, handle: () => void): void
  end(request: RoadRequest, reply: RoadReply): void
}

interface RoadRoute {
  handler: RoadHandler
  routeOptions: RoadRequest['routeOptions']
  server: RoadRequest['server']
}

interface ShortRoadOptions {
  logger: FastifyBaseLogger
  publicOrigin: () => string
  /** As the hook `onResponse`. */
  onResponse: (request: RoadRequest, reply: RoadReply) => void
}

/** Further spellings are left to the framework. */
const JSON_TYPES = new Set(['application/json', 'application/json; charset=utf-8'])

/** Headers with which a request needs more than reading a body of a known length. */
const UNUSUAL_HEADERS = ['transfer-encoding', 'content-encoding', 'expect', 'upgrade'] as const

/**
 * Answers requests that need none of what a framework can do: one path without a query, JSON of a
 * known length, and a credential that was checked a moment ago. Whether a request is one of these
 * is decided from its head, before anything is read or counted; all others go to Fastify, with
 * their refusals. Both call the same handler and the same functions for errors, logs and metrics,
 * and each hook that could refuse a request has its gate beside it
 * (docs/decisions/0055-short-road.md).
 */
export class ShortRoad {
  readonly #options: ShortRoadOptions
  readonly #routes = new Map<string, RoadRoute>()
  readonly #gates: RoadGate[] = []
  readonly #errorHooks: RoadErrorHook[] = []
  #observer: RoadObserver | null = null
  /** Requests that were answered here since the start. */
  taken = 0

  constructor(options: ShortRoadOptions) {
    this.#options = options
  }

  /**
   * Adds the counterpart of an `onRequest` hook, in the order of the hooks. It returns true if the
   * hook would let the request pass at once, and does then what the hook does. A gate that takes
   * something, such as quota, comes last: the hook takes it from a request that a gate leaves.
   */
  addGate(gate: RoadGate): void {
    this.#gates.push(gate)
  }

  /** Adds the counterpart of an `onError` hook. */
  addErrorHook(hook: RoadErrorHook): void {
    this.#errorHooks.push(hook)
  }

  observe(observer: RoadObserver): void {
    this.#observer = observer
  }

  /** Adds a route for POST. The framework has the same route with the same handler. */
  addRoute(route: RoadRoute): void {
    this.#routes.set(route.routeOptions.url, route)
  }

  /** Answers the request, or returns false without having touched it. */
  take(raw: Incoming, response: Response): boolean {
    const route = raw.method === 'POST' ? this.#routes.get(raw.url ?? '') : undefined
    if (route === undefined || !isPlainRequest(raw, route.routeOptions.bodyLimit)) return false
    const { logger, publicOrigin, onResponse } = this.#options
    const request = createRequest(raw, route, logger)
    const reply = new RoadReply(response, securityHeadersOf(publicOrigin()), request.id)
    for (const gate of this.#gates) if (!gate(request, reply)) return false
    this.taken += 1
    const observer = this.#observer
    observer?.begin(request)
    const finish = () => {
      response.removeListener('finish', finish)
      response.removeListener('error', finish)
      onResponse(request, reply)
      observer?.end(request, reply)
    }
    response.on('finish', finish)
    response.on('error', finish)
    const fail = (error: Error) => {
      try {
        for (const hook of this.#errorHooks) hook(request, error)
        sendErrorResponse(error, request, reply)
      } catch (err) {
        logger.error({ err, request_id: request.id }, 'an error could not be sent')
        response.destroy()
      }
    }
    const handle = () => {
      route.handler(request, reply).catch(fail)
    }
    readBody(raw, (error, bytes) => {
      const failure = error ?? readRequestBody(request, bytes)
      if (failure === null) return observer ? observer.run(request, handle) : handle()
      // The client may still send what is left of the body.
      reply.header('connection', 'close')
      fail(failure)
    })
    return true
  }
}

function isPlainRequest(raw: Incoming, bodyLimit: number): boolean {
  const { headers, httpVersion } = raw
  if (httpVersion !== '1.1' || !JSON_TYPES.has(headers['content-type'] ?? '')) return false
  const length = Number(headers['content-length'] ?? 0)
  if (!(length > 0 && length <= bodyLimit)) return false
  for (const name of UNUSUAL_HEADERS) if (headers[name] !== undefined) return false
  return findRequestHeadError(raw) === null
}

const NO_QUERY = Object.freeze({})

function createRequest(raw: Incoming, route: RoadRoute, log: FastifyBaseLogger): RoadRequest {
  const { routeOptions, server } = route
  return {
    id: generateRequestId(),
    method: 'POST',
    url: routeOptions.url,
    headers: raw.headers,
    query: NO_QUERY,
    ip: raw.socket.remoteAddress ?? '',
    raw,
    body: undefined,
    bodyBytes: 0,
    routeOptions,
    log,
    server,
  } as RoadRequest
}

/** Node's parser ends the body after `Content-Length` bytes, which are within the limit. */
function readBody(raw: Incoming, done: (error: Error | null, bytes: Buffer) => void): void {
  let chunks: Buffer[] = []
  const add = (chunk: Buffer) => chunks.push(chunk)
  const end = (error?: Error) => {
    raw.removeListener('data', add)
    raw.removeListener('end', end)
    raw.removeListener('error', end)
    const [first] = chunks
    const bytes = chunks.length === 1 && first ? first : Buffer.concat(chunks)
    // The raw identifiers must not stay while the event waits for its commit.
    chunks = []
    done(error ?? null, bytes)
  }
  raw.on('data', add)
  raw.on('end', end)
  raw.on('error', end)
}

function readRequestBody(request: RoadRequest, bytes: Buffer): Error | null {
  request.bodyBytes = bytes.length
  try {
    request.body = readJsonBody(bytes)
    return null
  } catch (error) {
    return error as Error
  }
}

/** The members of Fastify's reply that handlers and hooks use. Writes the response in one piece. */
export class RoadReply {
  readonly #response: Response
  readonly #headers: Record<string, string | number>
  readonly #startedAt = performance.now()
  #serialize: (body: unknown) => string | Buffer = JSON.stringify
  statusCode = 200
  /** Called before the headers are written, as the hook `onSend`. */
  onSend: () => unknown = () => {}
  /** The headers that such a hook adds: no other ones replace them. */
  lastHeaders: Record<string, string> | null = null

  constructor(response: Response, headers: Record<string, string>, requestId: string) {
    this.#response = response
    this.#headers = { ...headers, 'request-id': requestId }
  }

  /** Milliseconds since the request. */
  get elapsedTime(): number {
    return performance.now() - this.#startedAt
  }

  code(status: number): this {
    this.statusCode = status
    return this
  }

  header(name: string, value: string): this {
    this.#headers[name] = value
    return this
  }

  headers(values: Record<string, string>): this {
    Object.assign(this.#headers, values)
    return this
  }

  type(contentType: string): this {
    return this.header('content-type', contentType)
  }

  serializer(serialize: (body: unknown) => string | Buffer): this {
    this.#serialize = serialize
    return this
  }

  /** Text is sent as it is. Fails when a response was sent before. */
  send(payload: unknown): this {
    if (this.#response.headersSent) throw new Refusal(500, 'The response was already sent.')
    this.onSend()
    if (this.lastHeaders !== null) this.headers(this.lastHeaders)
    const body = typeof payload === 'string' ? payload : this.#serialize(payload)
    const bytes = Buffer.byteLength(body)
    this.#headers['content-type'] ??= 'application/json; charset=utf-8'
    this.#headers['content-length'] = bytes
    this.#response.writeHead(this.statusCode, this.#headers)
    // ASCII is the same in both encodings, and Node writes this one without a conversion.
    if (typeof body === 'string' && bytes === body.length) this.#response.end(body, 'latin1')
    else this.#response.end(body)
    return this
  }
}
