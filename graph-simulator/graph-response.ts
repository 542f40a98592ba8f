import { randomBytes } from 'node:crypto'
import type { FaultResponse } from './fault-rules.ts'
import { type GraphError, graphErrorBody } from './graph-errors.ts'
import { type HttpResponse, jsonTextResponse } from './http-messages.ts'

/** The version that answers, whatever version was asked: the newest known of Meta's. */
const GRAPH_VERSION = 'v26.0'

/** Graph's code for "unknown, possibly downtime". */
const CODE_UNKNOWN = 1

/** An answer with the headers that every answer of the Graph API carries. */
export function graphResponse(status: number, body: string, traceId: string): HttpResponse {
  const answer = jsonTextResponse(status, body)
  answer.headers['x-fb-trace-id'] = traceId
  answer.headers['facebook-api-version'] = GRAPH_VERSION
  return answer
}

export function graphErrorResponse(refusal: GraphError, traceId: string): HttpResponse {
  return graphResponse(refusal.status, graphErrorBody(refusal, traceId), traceId)
}

/** What a fault rule makes the simulator say. Its own headers win over ours. */
export function scriptedResponse(response: FaultResponse, traceId: string): HttpResponse {
  const answer =
    response.body === undefined
      ? graphErrorResponse(scriptedError(response), traceId)
      : graphResponse(response.status, response.body, traceId)
  return withHeaders(answer, response.headers)
}

/** The same answer with these headers, which win over those that it has. */
export function withHeaders(
  answer: HttpResponse,
  added: Record<string, string> = {},
): HttpResponse {
  const headers = { ...answer.headers }
  for (const [name, value] of Object.entries(added)) headers[name.toLowerCase()] = value
  return { ...answer, headers }
}

function scriptedError(response: FaultResponse): GraphError {
  const { status, code = CODE_UNKNOWN, subcode, is_transient, user_title, user_msg } = response
  return {
    status,
    type: 'OAuthException',
    message: response.message ?? `(#${code}) Scripted failure`,
    code,
    ...(subcode !== undefined && { subcode }),
    ...(is_transient !== undefined && { isTransient: is_transient }),
    ...(user_title !== undefined && { userTitle: user_title }),
    ...(user_msg !== undefined && { userMessage: user_msg }),
  }
}

const TRACE_BYTES = 16

/** A new name for one request. Meta's begin with "A" and look like base64url. */
export function newTraceId(): string {
  return `A${randomBytes(TRACE_BYTES).toString('base64url')}`
}
