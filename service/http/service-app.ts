import type { Socket } from 'node:net'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  type FastifyTypeProvider,
  fastify,
  LogController,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify'
import type { Static, TSchema } from 'typebox'
import {
  BODY_BYTES_MAX,
  createNotFoundHandler,
  respondToMalformedRequest,
  sendErrorResponse,
  trackResponse,
} from './error-responses.ts'
import { Refusal } from './refusal.ts'
import { readJsonBody, verifyBody } from './request-body.ts'
import { findRequestHeadFault } from './request-headers.ts'
import { logMalformedRequest, logResponse, type SentResponse } from './request-log.ts'
import { generateRequestId, SECURITY_HEADERS } from './response-headers.ts'

const REQUEST_MILLISECONDS_MAX = 30_000
/** Above the idle time of common load balancers (60 s), so that they close first, not we. */
const KEEP_ALIVE_MILLISECONDS = 72_000
/** An event id has up to 128 characters, each up to 4 bytes, each percent-encoded as 3. */
const PATH_PARAMETER_CHARACTERS_MAX = 128 * 4 * 3

/** Types a route by the TypeBox schemas of its contract operation. */
export interface ContractTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}

export type ServiceApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ContractTypes
>

/** Where the doorframe writes its lines. */
export type ServiceLogger = FastifyBaseLogger

/**
 * What may be asked of a route beyond its schemas. `access/` enforces a tracker's credential,
 * `people/` a session's and `oauth/` an agent's.
 */
export interface RouteConfig {
  operationId?: string
  credential?: 'tracker' | 'tracker_or_publishable' | 'session' | 'agent' | 'none'
}

/** One answer that was sent, for counting. */
export interface CompletedRequest {
  /** The contract's name of the operation, or the route's path; null for a path without a route. */
  operation: string | null
  method: string
  status: number
  seconds: number
}

/**
 * The doorframe: body reading, request ids, security headers and uniform error bodies for every
 * route. Schemas of the contract describe bodies; the verbs check them, because one request may
 * break a schema and a rule at once and the caller should hear of both.
 */
export function createServiceApp(
  logger: FastifyBaseLogger,
  onAnswered: (answered: CompletedRequest) => void = () => {},
): ServiceApp {
  const answerBroken = (error: Error, socket: Socket) =>
    respondToMalformedRequest(error, socket, broken => logMalformedRequest(logger, broken))
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    // Node would answer a missing Host by itself, with an empty body; see `prepareResponses`.
    http: { requireHostHeader: false },
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_MILLISECONDS_MAX,
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    routerOptions: { maxParamLength: PATH_PARAMETER_CHARACTERS_MAX },
    requestIdHeader: false,
    // Lines name the request themselves; a logger a request costs a tenth of its processor time.
    childLoggerFactory: () => logger,
    genReqId: generateRequestId,
    forceCloseConnections: 'idle',
    // While closing, what was accepted is still answered in our own words.
    return503OnClosing: false,
    // Before there is a route there are no hooks either, so that the line is written here.
    frameworkErrors: (error, request, reply) => {
      sendErrorResponse(error, request, reply)
      logResponse(request, reply)
    },
    clientErrorHandler: answerBroken,
  }).withTypeProvider<ContractTypes>()

  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  readBodies(app)
  handleNodeEvents(app, answerBroken)
  app.setErrorHandler(sendErrorResponse)
  prepareResponses(app)
  app.addHook('onResponse', (request, reply, done) => {
    logResponse(request, reply)
    onAnswered(describeCompletedRequest(request, reply))
    done()
  })
  closeConnectionsOnShutdown(app)
  return app
}

/** What every answer has, and the two refusals that need no route. */
function prepareResponses(app: ServiceApp): void {
  const answerUnknown = createNotFoundHandler(app)
  app.setNotFoundHandler(answerUnknown)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS)
    reply.header('request-id', request.id)
    const fault = findRequestHeadFault(request.raw)
    if (fault) return done(new Refusal(400, fault, { headers: { connection: 'close' } }))
    // Here and not only after the body: nobody reads what is sent to a path that is not there.
    if (request.is404) return answerUnknown(request, reply)
    done()
  })
}

/** Fastify says so only to requests that begin later; the rest would hold us up by staying. */
function closeConnectionsOnShutdown(app: ServiceApp): void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (isClosing) reply.header('connection', 'close')
    done(null, payload)
  })
}

/**
 * JSON is the only kind of body, under another name only where the request's terms say so; an empty
 * one is no body, whatever it is called.
 */
function readBodies(app: ServiceApp): void {
  app.decorateRequest('bodyTerms', null)
  app.decorateRequest('bodyBytes', 0)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, readJson)
  app.addContentTypeParser('text/plain', { parseAs: 'buffer' }, readText)
  app.addContentTypeParser('*', { parseAs: 'buffer' }, refuseBody)
  // Without a content type there is no parser that could do it.
  app.addHook('preValidation', (request, _reply, done) => {
    if (!request.bodyTerms?.verify) return done()
    verifyBody(request, Buffer.alloc(0)).then(() => done(), done)
  })
}

type BodyRead = (error: Error | null, body?: unknown) => void

/** Answers by a callback: a promise for each body takes longer than what most of them wait for. */
function readJson(request: FastifyRequest, bytes: Buffer, done: BodyRead): void {
  const coding = request.headers['content-encoding'] ?? 'identity'
  if (coding !== 'identity') {
    done(new Refusal(415, 'Send the body without a content coding.'))
    return
  }
  request.bodyBytes = bytes.length
  if (request.bodyTerms?.verify) {
    verifyBody(request, bytes).then(() => parseBody(bytes, done), done)
  } else parseBody(bytes, done)
}

function parseBody(bytes: Buffer, done: BodyRead): void {
  let body: unknown
  try {
    body = readJsonBody(bytes)
  } catch (error) {
    done(error as Error)
    return
  }
  done(null, body)
}

function readText(request: FastifyRequest, bytes: Buffer, done: BodyRead): void {
  if (request.bodyTerms?.isTextAllowed) readJson(request, bytes, done)
  else refuseBody(request, bytes, done)
}

function refuseBody(_: FastifyRequest, bytes: Buffer, done: BodyRead): void {
  done(bytes.length > 0 ? new Refusal(415, 'Send the body as application/json.') : null)
}

/** Node answers an unknown expectation by itself, and CONNECT not at all, when nobody listens. */
function handleNodeEvents(
  { server }: ServiceApp,
  answerBroken: (error: Error, socket: Socket) => void,
): void {
  server.on('request', trackResponse)
  // RFC 9110, section 10.1.1: an expectation that we do not know may be ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connect', (_request, socket) => answerBroken(new Error('CONNECT'), socket as Socket))
}

interface RoutedRequest {
  method: string
  routeOptions: { url?: string | undefined; config: object }
}

function describeCompletedRequest(
  { method, routeOptions }: RoutedRequest,
  { statusCode, elapsedTime }: SentResponse,
): CompletedRequest {
  const { operationId } = routeOptions.config as RouteConfig
  const operation = operationId ?? routeOptions.url ?? null
  return { operation, method, status: statusCode, seconds: elapsedTime / 1_000 }
}
