import type { FaultEdge, FaultRule } from './fault-rules.ts'
import { bearerToken, checkAccessToken, type GraphError } from './graph-errors.ts'
import {
  type GraphReply,
  graphErrorResponse,
  graphResponse,
  newTraceId,
  scriptedResponse,
} from './graph-response.ts'
import { type HttpResponse, withHeaders } from './http-messages.ts'
import type { SimulatorState } from './simulator-state.ts'

/** A GET on one of the read-only edges. */
export interface ReportRequest {
  edge: Exclude<FaultEdge, 'events'>
  dataset: string
  authorization: string | undefined
  query: URLSearchParams
  /** The URL of the request without its query. */
  url: string
}

export type ReportReader = (state: SimulatorState, request: ReportRequest) => ReportResult

export type ReportResult = { body: object } | { error: GraphError }

/** Like the events edge: fault injection first, then the token, then the request itself. */
export function answerReportRequest(
  state: SimulatorState,
  request: ReportRequest,
  read: ReportReader,
): GraphReply {
  const { edge, dataset } = request
  const fault = state.faults.selectFault({
    edge,
    dataset,
    isTest: false,
    events: [],
    at: state.now(),
  })
  return {
    response: withHeaders(respondTo(state, { request, read, fault }), fault?.headers),
    fault,
  }
}

interface ReportCall {
  request: ReportRequest
  read: ReportReader
  fault: FaultRule | undefined
}

function respondTo(state: SimulatorState, { request, read, fault }: ReportCall): HttpResponse {
  const traceId = newTraceId()
  if (fault?.respond) return scriptedResponse(fault.respond, traceId)
  const token = bearerToken(request.authorization) ?? request.query.get('access_token')
  const error = checkAccessToken(state.revokedTokens, token)
  if (error) return graphErrorResponse(error, traceId)
  const result = read(state, request)
  if ('error' in result) return graphErrorResponse(result.error, traceId)
  return graphResponse(200, JSON.stringify(result.body), traceId)
}
