import { type CountedEvent, type ExactDecimal, parseDecimal } from './dataset-totals.ts'
import type { FaultRule } from './fault-rules.ts'
import { bearerToken, checkAccessToken, type GraphError } from './graph-errors.ts'
import {
  type GraphReply,
  graphErrorResponse,
  graphResponse,
  newTraceId,
  scriptedResponse,
} from './graph-response.ts'
import { type HttpResponse, withHeaders } from './http-messages.ts'
import { elementBounds, memberSlice } from './json-slice.ts'
import { findMatchKeys } from './match-keys.ts'
import { type EventsRequest, parseEventsRequest } from './read-events-request.ts'
import type { ReceivedEvent } from './received-events.ts'
import type { SimulatorState } from './simulator-state.ts'
import { invalidNumber } from './validate-custom-data.ts'
import { validateEvents } from './validate-events.ts'

/** A POST to the events edge with its complete body. */
interface EventsPost {
  dataset: string
  authorization: string | undefined
  /** `access_token` of the query string. */
  queryToken: string | undefined
  contentType: string
  body: Buffer
}

interface ParsedPost {
  request: EventsRequest
  fault: FaultRule | undefined
  at: Date
  traceId: string
}

/**
 * POST /{version}/{dataset}/events: fault injection first (an outage does not check tokens), then
 * the token, the shape of the request and the events. Valid events are stored and counted.
 */
export function receiveEvents(state: SimulatorState, post: EventsPost): GraphReply {
  const request = parseEventsRequest(post.body, post.contentType)
  const at = state.now()
  const fault = state.faults.selectFault({
    edge: 'events',
    dataset: post.dataset,
    isTest: request.testEventCode !== null,
    events: request.events,
    at,
  })
  const response = respondTo(state, post, { request, fault, at, traceId: newTraceId() })
  return { response: withHeaders(response, fault?.headers), fault }
}

function respondTo(
  state: SimulatorState,
  post: EventsPost,
  { request, fault, at, traceId }: ParsedPost,
): HttpResponse {
  const { dataset } = post
  if (fault?.respond || fault?.abort === 'before_response') {
    state.totals.countRefused(dataset)
    // An aborted request gets no response: sendResponse of graph-routes.ts looks at the rule.
    return scriptedResponse(fault.respond ?? { status: 500 }, traceId)
  }

  const events = request.events.slice(0, fault?.keep_events)
  const accepted = { dataset, request: { ...request, events }, requestId: traceId, receivedAt: at }
  const token = bearerToken(post.authorization) ?? post.queryToken ?? request.accessToken
  const error =
    checkAccessToken(state.revokedTokens, token) ??
    request.error ??
    validateEvents(request.events, at) ??
    storeEvents(state, accepted)
  if (!error) return successResponse(events.length, traceId)
  state.totals.countRefused(dataset)
  return graphErrorResponse(error, traceId)
}

function successResponse(eventsReceived: number, traceId: string): HttpResponse {
  const body = { events_received: eventsReceived, messages: [], fbtrace_id: traceId }
  return graphResponse(200, JSON.stringify(body), traceId)
}

interface ValidRequest {
  dataset: string
  /** Its events have passed validateEvents; its bytes may contain more events than these. */
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
 * Stores and counts a valid request. Before it stores anything, it refuses a Purchase whose value
 * has too many digits for an exact sum; only the JSON text shows them, the parsed number does not.
 */
function storeEvents(state: SimulatorState, accepted: ValidRequest): GraphError | undefined {
  const { dataset, request, requestId, receivedAt } = accepted
  const events = request.events as ValidEvent[]
  const bounds = elementBounds(request.bytes, request.dataStart)
  const start = bounds[0] ?? 0
  // Only the events are stored: the rest of the body contains the access token.
  const end = bounds[events.length * 2 - 1] ?? start
  const bytes = Buffer.from(request.bytes.subarray(start, end))
  const receivedEvents = events.map(
    (event, index): ReceivedEvent => ({
      // An empty event_id is shown, but it is not indexed and never deduplicates.
      eventId: event.event_id || null,
      eventName: event.event_name,
      start: (bounds[index * 2] ?? 0) - start,
    }),
  )

  const purchases: (Purchase | undefined)[] = []
  for (const [index, event] of events.entries()) {
    const purchase = readPurchase(event, bytes, receivedEvents[index]?.start ?? 0)
    if (purchase === 'unreadable') return invalidNumber()
    purchases.push(purchase)
  }

  const { testEventCode, partnerAgent } = request
  const receipts = state.received.add(
    { dataset, testEventCode, partnerAgent, requestId, receivedAt, bytes },
    receivedEvents,
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

/** Counts an event for the stats edge, and a website event for the quality edge too. */
function countForReports(
  { counts, matchKeys }: SimulatorState,
  { event_name: eventName, event_id, event_time, action_source, user_data }: ValidEvent,
  { dataset, isTest, receivedAt }: EventReceipt,
): void {
  const eventTime = new Date(event_time * 1_000)
  const key = { dataset, eventName, eventTime }
  counts.countServer({ ...key, eventId: event_id || null, isTest, count: 1 }, receivedAt)
  if (action_source === 'website')
    matchKeys.count({ ...key, keys: findMatchKeys(user_data) }, receivedAt)
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

/** The value may be a quoted numeric string, whose digits JSON may have escaped. */
function numberText(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json
}
