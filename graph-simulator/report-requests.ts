import type { FaultEdge, FaultRule } from './fault-rules.ts'
import { checkAccessToken, type GraphError } from './graph-errors.ts'
import {
  graphErrorResponse,
  graphResponse,
  newTraceId,
  scriptedResponse,
  withHeaders,
} from './graph-response.ts'
import type { HttpResponse } from './http-messages.ts'
import type { GraphReply } from './receive-events.ts'
import type { SimulatorState } from './simulator-state.ts'

/** A GET on one of the edges that only show something. */
export interface ReportRequest {
  edge: Exclude<FaultEdge, 'events'>
  dataset: string
  authorization: string | undefined
  query: URLSearchParams
  /** The address under which the request came, without the query. */
  url: string
}

/** What is asked for: a body, or a refusal. */
export type ReportReader = (
  state: SimulatorState,
  request: ReportRequest,
) => { body: object } | { refusal: GraphError }

/** As on the events edge: first the scripted failures, then the token, then the request itself. */
export function answerReportRequest(
  state: SimulatorState,
  request: ReportRequest,
  read: ReportReader,
): GraphReply {
  const { edge, dataset } = request
  const fault = state.faults.draw({ edge, dataset, isTest: false, events: [], at: state.now() })
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
  const refusal = checkAccessToken(state.revokedTokens, readAccessToken(request))
  if (refusal) return graphErrorResponse(refusal, traceId)
  const reading = read(state, request)
  if ('refusal' in reading) return graphErrorResponse(reading.refusal, traceId)
  return graphResponse(200, JSON.stringify(reading.body), traceId)
}

const BEARER = /^Bearer\s+(\S+)\s*$/i

function readAccessToken({ authorization, query }: ReportRequest): string | undefined {
  const [, bearer] = BEARER.exec(authorization ?? '') ?? []
  return bearer ?? query.get('access_token') ?? undefined
}
