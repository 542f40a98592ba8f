import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyTypeProvider,
  fastify,
  LogController,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify'
import type { Static, TSchema } from 'typebox'
import { answerFailure, answerUnknownRoute } from './failure-answers.ts'
import { readJsonBody } from './json-body.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

const BODY_BYTES_MAX = 65_536
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

/** What may be asked of a route beyond its schemas. `credential` is enforced in `server.ts`. */
/** Where the doorframe writes its lines. */
export type ServiceLogger = FastifyBaseLogger

export interface RouteConfig {
  operationId?: string
  credential?: 'tracker' | 'none'
}

/**
 * The doorframe: body reading, request ids, security headers and uniform error bodies for every
 * route. Schemas of the contract describe bodies; the verbs check them, because one request may
 * break a schema and a rule at once and the caller should hear of both.
 */
export function createServiceApp(logger: FastifyBaseLogger): ServiceApp {
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_MILLISECONDS_MAX,
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    routerOptions: { maxParamLength: PATH_PARAMETER_CHARACTERS_MAX },
    requestIdHeader: false,
    genReqId: () => `req_${randomUUID().replaceAll('-', '')}`,
    forceCloseConnections: 'idle',
    // While closing, what was accepted is still answered in our own words.
    return503OnClosing: false,
    frameworkErrors: answerFailure,
    clientErrorHandler: answerBrokenRequest,
  }).withTypeProvider<ContractTypes>()

  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_: unknown, bytes: Buffer) => readJsonBody(bytes),
  )
  app.setErrorHandler(answerFailure)
  app.setNotFoundHandler(answerUnknownRoute(app))
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(SECURITY_HEADERS)
    reply.header('request-id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => logAnswer(request, reply))
  return app
}

/** Bytes that are no HTTP request at all never reach a route; they are answered here. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const status = isTooLarge ? '431 Request Header Fields Too Large' : '400 Bad Request'
  const message = isTooLarge ? 'The request headers are too large.' : 'Not a valid HTTP request.'
  const body = JSON.stringify({ message })
  const requestId = `req_${randomUUID().replaceAll('-', '')}`
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nrequest-id: ${requestId}\r\n` +
      `cache-control: no-store\r\nconnection: close\r\n\r\n${body}`,
  )
}

interface AnsweredRequest {
  id: string
  method: string
  routeOptions: { url?: string | undefined }
  log: FastifyBaseLogger
}

/** One line a request, without query strings, bodies or credentials. */
function logAnswer(
  { id, method, routeOptions, log }: AnsweredRequest,
  { statusCode, elapsedTime }: { statusCode: number; elapsedTime: number },
): void {
  const level = statusCode >= 500 ? 'error' : 'debug'
  log[level](
    {
      request_id: id,
      method,
      route: routeOptions.url ?? 'unknown',
      status: statusCode,
      milliseconds: Math.round(elapsedTime * 10) / 10,
    },
    'request answered',
  )
}
