import type { IncomingMessage } from 'node:http'
import {
  type HttpExchange,
  type HttpResponse,
  jsonTextResponse,
  readBody,
  sendReply,
  withHeaders,
} from '../http-messages.ts'
import type { SimulatorState } from '../simulator-state.ts'
import { type GoogleError, googleErrorResponse, newRequestId, refused } from './google-errors.ts'
import { type GoogleEdge, type GoogleFaultRule, scriptedGoogleResponse } from './google-faults.ts'
import { checkAccess, ingestEvents } from './ingest-events.ts'
import { parseJson } from './json-numbers.ts'
import { retrieveRequestStatus } from './request-status.ts'
import { answerTokenRequest } from './token-endpoint.ts'

const BODY_BYTES_MAX = 16 * 1_024 * 1_024

/** The addresses of Google that are simulated, on the same port as the Graph API. */
const EDGES: Record<string, { edge: GoogleEdge; method: string }> = {
  '/v1/events:ingest': { edge: 'ingest', method: 'POST' },
  '/v1/requestStatus:retrieve': { edge: 'request_status', method: 'GET' },
  '/token': { edge: 'token', method: 'POST' },
}

export function isGooglePath(path: string): boolean {
  return Object.hasOwn(EDGES, path)
}

interface GoogleExchange extends HttpExchange {
  edge: GoogleEdge
  at: Date
  body: string
}

/** One request to an address of Google's: faults first, then the token, then the request. */
export async function answerGoogle(state: SimulatorState, exchange: HttpExchange): Promise<void> {
  const { request, response } = exchange
  const { edge, method } = EDGES[exchange.path] as (typeof EDGES)[string]
  const bytes = await readBody(request, BODY_BYTES_MAX)
  if (bytes === 'gone') return void response.destroy()
  const refuse = (error: GoogleError) =>
    sendReply(exchange, googleErrorResponse(error, newRequestId()), undefined)
  if (request.method !== method)
    return refuse(refused(404, 'NOT_FOUND', 'The requested URL was not found.'))
  if (bytes === 'too_large')
    return refuse(refused(400, 'INVALID_ARGUMENT', 'Request payload size exceeds the limit.'))
  const received = { ...exchange, edge, at: state.now(), body: bytes.toString('utf8') }
  const { reply, fault } = answerEdge(state, received)
  await sendReply(exchange, reply, fault)
}

interface EdgeAnswer {
  reply: HttpResponse
  fault: GoogleFaultRule | undefined
}

function answerEdge(state: SimulatorState, exchange: GoogleExchange): EdgeAnswer {
  const { edge, at } = exchange
  const { google } = state
  const body = edge === 'ingest' ? parseJson(exchange.body) : undefined
  const fault = google.faults.selectFault({ edge, body, at })
  const isAnswered = fault?.respond !== undefined || fault?.abort === 'before_response'
  const reply = isAnswered
    ? scriptedGoogleResponse(fault.respond ?? { status: 500 })
    : respond(state, exchange, body)
  if (edge === 'ingest' && reply.status !== 200) google.totals.refusedRequests += 1
  return { reply: withHeaders(reply, fault?.headers), fault }
}

function respond(state: SimulatorState, exchange: GoogleExchange, body: unknown): HttpResponse {
  const { edge, at, request, query } = exchange
  const { google, revokedTokens } = state
  if (edge === 'token') {
    const url = `http://${request.headers.host ?? ''}/token`
    const { tokens } = google
    return answerTokenRequest({ body: exchange.body, url, at, tokens, revoked: revokedTokens })
  }
  const requestId = newRequestId()
  const access = { ...readHeaders(request), at }
  const error = checkAccess(state, access)
  if (error) return googleErrorResponse(error, requestId)
  const answer =
    edge === 'ingest'
      ? ingestEvents(state, { ...access, body, requestId })
      : retrieveRequestStatus(google, { requestId: query.get('requestId') ?? '', at })
  return isError(answer)
    ? googleErrorResponse(answer, requestId)
    : jsonTextResponse(200, JSON.stringify(answer))
}

function readHeaders({ headers }: IncomingMessage) {
  const project = headers['x-goog-user-project']
  return {
    authorization: headers.authorization,
    userProject: typeof project === 'string' ? project : undefined,
  }
}

function isError(answer: object): answer is GoogleError {
  return 'status' in answer && 'reason' in answer
}
