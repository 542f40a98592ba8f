import { Server, type Socket } from 'node:net'
import { BODY_BYTES_MAX } from '@signalbox/contract/errors.ts'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyTypeProvider,
  fastify,
  type RawRequestDefaultExpression as Incoming,
  LogController,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
  type RawReplyDefaultExpression as Response,
} from 'fastify'
import type { Static, TSchema } from 'typebox'
import { findSpan, traceIdOf } from '../tracing/tracer.ts'
import { sleep } from '../util/wait.ts'
import {
  createNotFoundHandler,
  respondToMalformedRequest,
  sendErrorResponse,
  trackResponse,
} from './error-responses.ts'
import { findRequestHeadError, generateRequestId, securityHeadersOf } from './headers.ts'
import { Refusal } from './refusal.ts'
import { registerBodyParsers } from './request-body.ts'
import {
  type LoggedRequest,
  logMalformedRequest,
  logResponse,
  type SentResponse,
} from './request-log.ts'
import { ShortRoad } from './short-road.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Answers plain requests below the hooks; see short-road.ts. */
    shortRoad: ShortRoad
  }
}

const REQUEST_MILLISECONDS_MAX = 30_000
/** Longer than the idle timeout of common load balancers (60 s), so that they close first. */
const KEEP_ALIVE_MILLISECONDS = 72_000
/** Of a shutdown, for requests that are on their way. */
const LAST_REQUESTS_SECONDS = 0.1
/** An event id has up to 128 characters, each up to 4 bytes, each percent-encoded as 3. */
const PATH_PARAMETER_CHARACTERS_MAX = 128 * 4 * 3

/**
 * Types a route by its contract operation: responses by their schemas. The body, the query and the
 * parameters of the path are `unknown` whatever their schemas say, because nothing has validated
 * them when the handler runs: the operation does, by a `Validator` of the same schema.
 */
export interface ContractTypes extends FastifyTypeProvider {
  validator: unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}

export type ServiceApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ContractTypes
>

export type ServiceLogger = FastifyBaseLogger

/**
 * The configuration of a route beside its schemas. `access/` enforces tracker credentials,
 * `people/` sessions and `oauth/` agent tokens.
 */
export interface RouteConfig {
  operationId?: string
  credential?: 'tracker' | 'tracker_or_publishable' | 'session' | 'agent' | 'none'
  /** A response lasts as long as the page is open; its duration says nothing. */
  isStream?: boolean
}

/** A response that was sent, for metrics. */
export interface CompletedRequest {
  /** The operation id, or the pattern of the route; null for a path without a route. */
  operation: string | null
  method: string
  status: number
  seconds: number
  /** Of its span; null unless the span is exported. */
  traceId: string | null
}

/**
 * Creates the HTTP layer: body parsing, request ids, security headers and uniform error bodies for
 * every route. Fastify validates nothing: operations do, because one request can break a schema and
 * a rule and the caller should learn of both.
 */
export function createServiceApp(
  logger: FastifyBaseLogger,
  onCompleted: (request: CompletedRequest) => void = () => {},
  publicOrigin: () => string = () => '',
): ServiceApp {
  const onClientError = (error: Error, socket: Socket) =>
    respondToMalformedRequest(error, socket, request => logMalformedRequest(logger, request))
  const untyped = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    // Node would refuse a missing Host with an empty body; `prepareResponses` does it instead. It
    // swaps the two timeouts when that of the head is longer, and its default is 60 seconds.
    http: { requireHostHeader: false, headersTimeout: REQUEST_MILLISECONDS_MAX },
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_MILLISECONDS_MAX,
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    routerOptions: { maxParamLength: PATH_PARAMETER_CHARACTERS_MAX },
    requestIdHeader: false,
    // Log lines name the request themselves; a logger per request costs a tenth of its CPU time.
    childLoggerFactory: () => logger,
    genReqId: generateRequestId,
    forceCloseConnections: 'idle',
    // During shutdown, accepted requests still get their own responses.
    return503OnClosing: false,
    // Without a route no hook runs, so the line is written here.
    frameworkErrors: (error, request, reply) => {
      sendErrorResponse(error, request, reply as FastifyReply)
      logResponse(request, reply)
    },
    clientErrorHandler: onClientError,
  })
  registerBodyParsers(untyped)
  untyped.setErrorHandler(sendErrorResponse)
  const app = untyped.withTypeProvider<ContractTypes>()

  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  const onResponse = (request: LoggedRequest & RoutedRequest, reply: SentResponse) => {
    logResponse(request, reply)
    if (!isSentStream(request, reply)) onCompleted(describeCompletedRequest(request, reply))
  }
  app.decorate('shortRoad', new ShortRoad({ logger, publicOrigin, onResponse }))
  handleNodeEvents(app, onClientError)
  prepareResponses(app, publicOrigin)
  app.addHook('onResponse', (request, reply, done) => {
    onResponse(request, reply)
    done()
  })
  closeConnectionsOnShutdown(app)
  return app
}

/** Sets the headers of every response and refuses malformed heads and unknown paths. */
function prepareResponses(app: ServiceApp, publicOrigin: () => string): void {
  const handleNotFound = createNotFoundHandler(app)
  app.setNotFoundHandler(handleNotFound)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(securityHeadersOf(publicOrigin()))
    reply.header('request-id', request.id)
    const error = findRequestHeadError(request.raw)
    if (error) return done(new Refusal(400, error, { headers: { connection: 'close' } }))
    // Before the body is read, because no route needs it.
    if (request.is404) return handleNotFound(request, reply)
    done()
  })
}

/**
 * A client sends on an open connection until it hears that it ends, and the system resets a
 * connection that is closed with unread bytes. So a shutdown takes no more connections, each
 * response says that its connection ends, and idle ones stay open for a moment longer. Then Fastify
 * closes those of earlier requests. Browsers and load balancers open connections ahead of any
 * request; Node would wait a minute for these.
 */
function closeConnectionsOnShutdown(app: ServiceApp): void {
  let isClosing = false
  const open = new Set<Socket>()
  app.server.on('connection', socket => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  app.addHook('preClose', async () => {
    isClosing = true
    // That of HTTP ends idle connections as well.
    Server.prototype.close.call(app.server)
    await sleep(LAST_REQUESTS_SECONDS)
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (isClosing) reply.header('connection', 'close')
    else if (reply.statusCode === 413 && !request.raw.complete) discardRest(request.raw, reply)
    done(null, payload)
  })
  app.shortRoad.addGate((_request, reply) => {
    reply.onSend = () => isClosing && reply.header('connection', 'close')
    return !isClosing
  })
}

/**
 * Reads what is left of a body that is too large and forgets it, until the time of the request is
 * over. Fastify closes the connection instead: a client that is still sending would see a reset and
 * never the response.
 */
function discardRest(raw: FastifyRequest['raw'], reply: FastifyReply): void {
  reply.removeHeader('connection')
  raw.resume()
}

/** Without listeners Node refuses unknown expectations and ignores CONNECT. */
function handleNodeEvents(
  { server, shortRoad }: ServiceApp,
  onClientError: (error: Error, socket: Socket) => void,
): void {
  const [answer] = server.listeners('request') as RequestListener[]
  if (answer) {
    server.removeListener('request', answer)
    server.on('request', (request, response) => {
      if (!shortRoad.take(request, response)) answer(request, response)
    })
  }
  server.on('request', trackResponse)
  // RFC 9110, section 10.1.1: an unknown expectation may be ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connect', (_request, socket) => onClientError(new Error('CONNECT'), socket as Socket))
}

type RequestListener = (request: Incoming, response: Response) => void

function isSentStream({ routeOptions }: RoutedRequest, { statusCode }: SentResponse): boolean {
  return statusCode === 200 && (routeOptions.config as RouteConfig).isStream === true
}

/** The part of a route that metrics and logs name. */
interface CompletedRoute {
  url?: string | undefined
  config: object
}

interface RoutedRequest {
  method: string
  routeOptions: CompletedRoute
}

function describeCompletedRequest(
  request: RoutedRequest,
  { statusCode, elapsedTime }: SentResponse,
): CompletedRequest {
  const { method, routeOptions } = request
  const { operationId } = routeOptions.config as RouteConfig
  const operation = operationId ?? routeOptions.url ?? null
  const traceId = traceIdOf(findSpan(request))
  return { operation, method, status: statusCode, seconds: elapsedTime / 1_000, traceId }
}
