import type { Answer } from './answer.ts'
import { checkAccessToken } from './check-access-token.ts'
import type { FaultEdge, FaultRule } from './fault-rule.ts'
import { graphAnswer, refusalAnswer, scriptedAnswer, withHeaders } from './graph-answer.ts'
import type { GraphRefusal } from './graph-refusal.ts'
import { graphTraceId } from './graph-trace-id.ts'
import type { Reaction } from './receive-events.ts'
import type { SimulatorState } from './simulator-state.ts'

/** A GET on one of the edges that only show something. */
export interface ReadingRequest {
  edge: Exclude<FaultEdge, 'events'>
  dataset: string
  authorization: string | undefined
  query: URLSearchParams
  /** The address under which the request came, without the query. */
  address: string
}

/** What is asked for: a body, or a refusal. */
export type Reader = (
  state: SimulatorState,
  request: ReadingRequest,
) => { body: object } | { refusal: GraphRefusal }

/** As on the events edge: first the scripted failures, then the token, then the request itself. */
export function answerReading(
  state: SimulatorState,
  request: ReadingRequest,
  read: Reader,
): Reaction {
  const { edge, dataset } = request
  const fault = state.faults.draw({ edge, dataset, isTest: false, events: [], at: state.now() })
  return { answer: withHeaders(answerOf(state, { request, read, fault }), fault?.headers), fault }
}

interface Drawn {
  request: ReadingRequest
  read: Reader
  fault: FaultRule | undefined
}

function answerOf(state: SimulatorState, { request, read, fault }: Drawn): Answer {
  const traceId = graphTraceId()
  if (fault?.respond) return scriptedAnswer(fault.respond, traceId)
  const refusal = checkAccessToken(state.revokedTokens, tokenOf(request))
  if (refusal) return refusalAnswer(refusal, traceId)
  const reading = read(state, request)
  if ('refusal' in reading) return refusalAnswer(reading.refusal, traceId)
  return graphAnswer(200, JSON.stringify(reading.body), traceId)
}

const BEARER = /^Bearer\s+(\S+)\s*$/i

function tokenOf({ authorization, query }: ReadingRequest): string | undefined {
  const [, bearer] = BEARER.exec(authorization ?? '') ?? []
  return bearer ?? query.get('access_token') ?? undefined
}
