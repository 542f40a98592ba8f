import { randomBytes } from 'node:crypto'
import type { FaultResponse, FaultRule } from './fault-rules.ts'
import { type GraphError, graphErrorBody } from './graph-errors.ts'
import { type HttpResponse, jsonTextResponse, withHeaders } from './http-messages.ts'

/** A response and the fault rule that fired: the rule may delay, truncate or drop the response. */
export interface GraphReply {
  response: HttpResponse
  fault: FaultRule | undefined
}

/** The version in every response, regardless of the version in the request: Meta's newest. */
const GRAPH_VERSION = 'v26.0'

/** Graph's code for "unknown, possibly downtime". */
const CODE_UNKNOWN = 1

/** A response with the headers of every Graph API response. */
export function graphResponse(status: number, body: string, traceId: string): HttpResponse {
  const httpResponse = jsonTextResponse(status, body)
  httpResponse.headers['x-fb-trace-id'] = traceId
  httpResponse.headers['facebook-api-version'] = GRAPH_VERSION
  return httpResponse
}

export function graphErrorResponse(error: GraphError, traceId: string): HttpResponse {
  return graphResponse(error.status, graphErrorBody(error, traceId), traceId)
}

/** The response of a fault rule. Its headers override ours. */
export function scriptedResponse(response: FaultResponse, traceId: string): HttpResponse {
  const httpResponse =
    response.body === undefined
      ? graphErrorResponse(scriptedError(response), traceId)
      : graphResponse(response.status, response.body, traceId)
  return withHeaders(httpResponse, response.headers)
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

/** A new request ID. Meta's begin with "A" and look like base64url. */
export function newTraceId(): string {
  return `A${randomBytes(TRACE_BYTES).toString('base64url')}`
}
