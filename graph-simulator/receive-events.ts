import { type CountedEvent, type ExactDecimal, parseDecimal } from './dataset-totals.ts'
import type { FaultRule } from './fault-rules.ts'
import { checkAccessToken, type GraphError } from './graph-errors.ts'
import {
  graphErrorResponse,
  graphResponse,
  newTraceId,
  scriptedResponse,
  withHeaders,
} from './graph-response.ts'
import type { HttpResponse } from './http-messages.ts'
import { elementBounds, memberSlice } from './json-slice.ts'
import { findMatchKeys } from './match-keys.ts'
import { type EventsRequest, parseEventsRequest } from './read-events-request.ts'
import type { ReceivedEvent } from './received-events.ts'
import type { SimulatorState } from './simulator-state.ts'
import { invalidNumber } from './validate-custom-data.ts'
import { validateEvents } from './validate-events.ts'

/** A POST to the events edge whose body has arrived. */
interface EventsPost {
  dataset: string
  authorization: string | undefined
  /** `access_token` of the query string. */
  queryToken: string | undefined
  contentType: string
  body: Buffer
}

/** The answer, and the rule that hit the request: it may delay, cut or drop that answer. */
export interface GraphReply {
  response: HttpResponse
  fault: FaultRule | undefined
}

interface ParsedPost {
  request: EventsRequest
  fault: FaultRule | undefined
  at: Date
  traceId: string
}

/**
 * POST /{version}/{dataset}/events: first the scripted failures (an outage knows no token), then
 * the token, the shape and the events; what passes is kept and counted.
 */
export function receiveEvents(state: SimulatorState, arrival: EventsPost): GraphReply {
  const request = parseEventsRequest(arrival.body, arrival.contentType)
  const at = state.now()
  const fault = state.faults.draw({
    edge: 'events',
    dataset: arrival.dataset,
    isTest: request.testEventCode !== null,
    events: request.events,
    at,
  })
  const answer = respondTo(state, arrival, { request, fault, at, traceId: newTraceId() })
  return { response: withHeaders(answer, fault?.headers), fault }
}

function respondTo(
  state: SimulatorState,
  arrival: EventsPost,
  { request, fault, at, traceId }: ParsedPost,
): HttpResponse {
  const { dataset } = arrival
  if (fault?.respond || fault?.abort === 'before_response') {
    state.totals.countRefused(dataset)
    // An aborted request is never answered; the rule in the reaction says so.
    return scriptedResponse(fault.respond ?? { status: 500 }, traceId)
  }

  const events = request.events.slice(0, fault?.keep_events)
  const keeping = { dataset, request: { ...request, events }, requestId: traceId, receivedAt: at }
  const refusal =
    checkAccessToken(state.revokedTokens, readAccessToken(arrival, request)) ??
    request.error ??
    validateEvents(request.events, at) ??
    storeEvents(state, keeping)
  if (!refusal) return successResponse(events.length, traceId)
  state.totals.countRefused(dataset)
  return graphErrorResponse(refusal, traceId)
}

function successResponse(eventsReceived: number, traceId: string): HttpResponse {
  const body = { events_received: eventsReceived, messages: [], fbtrace_id: traceId }
  return graphResponse(200, JSON.stringify(body), traceId)
}

const BEARER = /^Bearer\s+(\S+)\s*$/i

function readAccessToken(arrival: EventsPost, request: EventsRequest): string | undefined {
  const [, bearer] = BEARER.exec(arrival.authorization ?? '') ?? []
  return bearer ?? arrival.queryToken ?? request.accessToken
}

interface ValidRequest {
  dataset: string
  /** Its events have passed validateEvents; of those in its bytes, the first may be all. */
  request: EventsRequest
  requestId: string
  receivedAt: Date
}

type ValidEvent = {
  event_name: string
  event_time: number
  action_source: string
  user_data: Record<string, unknown>
  event_id?: string | null
  custom_data?: { currency: string }
}

type Purchase = { value: ExactDecimal; currency: string }

/**
 * Keeps a valid request and counts it. Refuses, before anything is kept, a Purchase whose value has
 * more digits than can be summed exactly; that shows only in the text, not in the parsed number.
 */
function storeEvents(state: SimulatorState, keeping: ValidRequest): GraphError | undefined {
  const { dataset, request, requestId, receivedAt } = keeping
  const events = request.events as ValidEvent[]
  const bounds = elementBounds(request.bytes, request.dataStart)
  const start = bounds[0] ?? 0
  // Only the events are kept: around them stands the access token.
  const end = bounds[events.length * 2 - 1] ?? start
  const bytes = Buffer.from(request.bytes.subarray(start, end))
  const places = events.map(
    (event, index): ReceivedEvent => ({
      // An empty event_id names nothing; it is shown, but finds and deduplicates nothing.
      eventId: event.event_id || null,
      eventName: event.event_name,
      start: (bounds[index * 2] ?? 0) - start,
    }),
  )

  const purchases: (Purchase | undefined)[] = []
  for (const [index, event] of events.entries()) {
    const purchase = readPurchase(event, bytes, places[index]?.start ?? 0)
    if (purchase === 'unreadable') return invalidNumber()
    purchases.push(purchase)
  }

  const { testEventCode, partnerAgent } = request
  const receipts = state.received.keep(
    { dataset, testEventCode, partnerAgent, requestId, receivedAt, bytes },
    places,
  )
  const isTest = testEventCode !== null
  state.totals.countAccepted(
    dataset,
    receipts.map(
      ({ deduplicated }, index): CountedEvent => ({
        isTest,
        deduplicated,
        purchase: purchases[index],
      }),
    ),
  )
  for (const event of events) countForReports(state, event, { dataset, isTest, receivedAt })
  return undefined
}

interface EventReceipt {
  dataset: string
  isTest: boolean
  receivedAt: Date
}

/** For the stats edge, and, of what happened on a website, for the quality edge. */
function countForReports(
  { counts, matchKeys }: SimulatorState,
  { event_name: eventName, event_id, event_time, action_source, user_data }: ValidEvent,
  { dataset, isTest, receivedAt }: EventReceipt,
): void {
  const eventTime = new Date(event_time * 1_000)
  const named = { dataset, eventName, eventTime }
  counts.countServer({ ...named, eventId: event_id || null, isTest, count: 1 }, receivedAt)
  if (action_source === 'website')
    matchKeys.count({ ...named, keys: findMatchKeys(user_data) }, receivedAt)
}

function readPurchase(
  { event_name, custom_data }: ValidEvent,
  bytes: Buffer,
  start: number,
): Purchase | 'unreadable' | undefined {
  if (event_name !== 'Purchase' || !custom_data) return undefined
  const customData = memberSlice(bytes, start, 'custom_data')
  const slice = customData && memberSlice(bytes, customData.start, 'value')
  const value = slice && parseDecimal(numberText(bytes.toString('utf8', slice.start, slice.end)))
  return value ? { value, currency: custom_data.currency } : 'unreadable'
}

/** A numeric string stands in quotes, and JSON may have written its digits as escapes. */
function numberText(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json
}
