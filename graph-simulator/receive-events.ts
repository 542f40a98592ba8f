import type { Answer } from './answer.ts'
import { checkAccessToken } from './check-access-token.ts'
import type { FaultRule } from './fault-rule.ts'
import { graphAnswer, refusalAnswer, scriptedAnswer, withHeaders } from './graph-answer.ts'
import { graphTraceId } from './graph-trace-id.ts'
import { keepEvents } from './keep-events.ts'
import { type EventsRequest, readEventsRequest } from './read-events-request.ts'
import type { SimulatorState } from './simulator-state.ts'
import { validateEvents } from './validate-events.ts'

/** A POST to the events edge whose body has arrived. */
export interface Arrival {
  dataset: string
  authorization: string | undefined
  /** `access_token` of the query string. */
  queryToken: string | undefined
  contentType: string
  body: Buffer
}

/** The answer, and the rule that hit the request: it may delay, cut or drop that answer. */
export interface Reaction {
  answer: Answer
  fault: FaultRule | undefined
}

interface Reading {
  request: EventsRequest
  fault: FaultRule | undefined
  at: Date
  traceId: string
}

/**
 * POST /{version}/{dataset}/events: first the scripted failures (an outage knows no token), then
 * the token, the shape and the events; what passes is kept and counted.
 */
export function receiveEvents(state: SimulatorState, arrival: Arrival): Reaction {
  const request = readEventsRequest(arrival.body, arrival.contentType)
  const at = state.now()
  const fault = state.faults.draw({
    edge: 'events',
    dataset: arrival.dataset,
    isTest: request.testEventCode !== null,
    events: request.events,
    at,
  })
  const answer = answerOf(state, arrival, { request, fault, at, traceId: graphTraceId() })
  return { answer: withHeaders(answer, fault?.headers), fault }
}

function answerOf(
  state: SimulatorState,
  arrival: Arrival,
  { request, fault, at, traceId }: Reading,
): Answer {
  const { dataset } = arrival
  if (fault?.respond || fault?.abort === 'before_response') {
    state.tallies.countRefused(dataset)
    // An aborted request is never answered; the rule in the reaction says so.
    return scriptedAnswer(fault.respond ?? { status: 500 }, traceId)
  }

  const events = request.events.slice(0, fault?.keep_events)
  const keeping = { dataset, request: { ...request, events }, requestId: traceId, receivedAt: at }
  const refusal =
    checkAccessToken(state.revokedTokens, tokenOf(arrival, request)) ??
    request.refusal ??
    validateEvents(request.events, at) ??
    keepEvents(state, keeping)
  if (!refusal) return successAnswer(events.length, traceId)
  state.tallies.countRefused(dataset)
  return refusalAnswer(refusal, traceId)
}

function successAnswer(eventsReceived: number, traceId: string): Answer {
  const body = { events_received: eventsReceived, messages: [], fbtrace_id: traceId }
  return graphAnswer(200, JSON.stringify(body), traceId)
}

const BEARER = /^Bearer\s+(\S+)\s*$/i

function tokenOf(arrival: Arrival, request: EventsRequest): string | undefined {
  const [, bearer] = BEARER.exec(arrival.authorization ?? '') ?? []
  return bearer ?? arrival.queryToken ?? request.accessToken
}
