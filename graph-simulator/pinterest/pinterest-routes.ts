import {
  type HttpExchange,
  type HttpResponse,
  jsonResponse,
  messageResponse,
  readBody,
  sendReply,
  withHeaders,
} from '../http-messages.ts'
import { createFaultControls, readLimit } from '../shared-controls.ts'
import type { ControlHandler, ControlRequest, SimulatorState } from '../simulator-state.ts'
import {
  type PinterestFaultRule,
  parsePinterestFaultRules,
  pinterestError,
  scriptedPinterestResponse,
} from './pinterest-faults.ts'
import { clearPinterest, keepEvent, type PinterestReceipt, takeCall } from './pinterest-state.ts'
import {
  type ConversionEvent,
  findEventError,
  findRequestError,
  TEST_EVENTS_MAX,
} from './validate-conversions.ts'

const BODY_BYTES_MAX = 16 * 1_024 * 1_024
const PATH = /^\/v5\/ad_accounts\/([^/]+)\/events$/

export function isPinterestPath(path: string): boolean {
  return PATH.test(path)
}

interface ConversionPost {
  adAccount: string
  isTest: boolean
  authorization: string | undefined
  body: unknown
  at: Date
}

/** POST /v5/ad_accounts/{id}/events: faults first, then the token, then the request. */
export async function answerPinterest(
  state: SimulatorState,
  exchange: HttpExchange,
): Promise<void> {
  const { request, response, path, query } = exchange
  const bytes = await readBody(request, BODY_BYTES_MAX)
  if (bytes === 'gone') return void response.destroy()
  const refuse = (status: number, message: string) =>
    sendReply(exchange, pinterestError(status, message), undefined)
  if (request.method !== 'POST') return refuse(405, 'Method not allowed.')
  if (bytes === 'too_large') return refuse(413, 'The request is too large.')
  const adAccount = PATH.exec(path)?.[1] ?? ''
  const isTest = query.get('test') === 'true'
  const body = parse(bytes)
  const { authorization } = request.headers
  const post = { adAccount, isTest, authorization, body, at: state.now() }
  const { data } = (body ?? {}) as { data?: unknown }
  const events = Array.isArray(data) ? data : []
  const fault = state.pinterest.faults.selectFault({ ...post, events })
  const isAnswered = fault?.respond !== undefined || fault?.abort === 'before_response'
  const reply = isAnswered
    ? scriptedPinterestResponse(fault.respond ?? { status: 500 })
    : receiveConversions(state, post)
  if (reply.status !== 200) state.pinterest.refusedRequests += 1
  await sendReply(exchange, applyFault(reply, fault), fault)
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

function applyFault(reply: HttpResponse, fault: PinterestFaultRule | undefined): HttpResponse {
  const changed = withHeaders(reply, fault?.headers)
  if (!fault?.omit_results) return changed
  const { status, body } = pinterestError(422, 'Not all events were successfully processed.')
  return { ...changed, status, body }
}

function receiveConversions(state: SimulatorState, post: ConversionPost): HttpResponse {
  const { adAccount, isTest, body, at } = post
  const { pinterest, revokedTokens } = state
  const token = /^Bearer\s+(\S+)$/i.exec(post.authorization ?? '')?.[1] ?? ''
  if (token === '' || revokedTokens.has(token)) return pinterestError(401, 'Authentication failed.')
  if (!/^\d{1,20}$/.test(adAccount)) return pinterestError(404, 'This ad account does not exist.')
  if (!takeCall(pinterest, adAccount, at)) {
    return pinterestError(429, 'This request exceeded a rate limit.')
  }
  const error = findRequestError(body)
  if (error !== undefined) return pinterestError(400, error)
  const { data } = body as { data: ConversionEvent[] }
  if (isTest && data.length > TEST_EVENTS_MAX) {
    return pinterestError(400, `Invalid request: a test has at most ${TEST_EVENTS_MAX} events.`)
  }
  pinterest.requests += 1
  const events = data.map(event => {
    const message = findEventError(event, at)
    if (message !== undefined) return { status: 'failed', error_message: message }
    keepEvent(pinterest, { adAccount, event, isTest, receivedAt: at })
    return { status: 'processed', error_message: null, warning_message: null }
  })
  const processed = events.filter(({ status }) => status === 'processed').length
  const results = { num_events_received: data.length, num_events_processed: processed, events }
  if (processed === data.length) return jsonResponse(200, results)
  const message = 'Not all events were successfully processed.'
  return pinterestError(422, message, { details: results })
}

/** The endpoints under /_simulator/pinterest, which let a test inspect and control this part. */
export const PINTEREST_CONTROLS: Record<string, Record<string, ControlHandler>> = {
  '/_simulator/pinterest/received': { GET: showReceived, DELETE: removeReceived },
  '/_simulator/pinterest/summary': { GET: showSummary },
  '/_simulator/pinterest/faults': createFaultControls(
    ({ pinterest }) => pinterest.faults,
    parsePinterestFaultRules,
  ),
}

function showReceived({ pinterest }: SimulatorState, { query }: ControlRequest): HttpResponse {
  const isAsked = (name: string, value: string) => (query.get(name) ?? value) === value
  const matches = pinterest.receipts.filter(
    ({ adAccount, event }) =>
      isAsked('ad_account', adAccount) && isAsked('event_id', event.event_id),
  )
  const events = matches.slice(0, readLimit(query)).map(formatReceipt)
  return jsonResponse(200, { count: matches.length, events })
}

function formatReceipt(receipt: PinterestReceipt): Record<string, unknown> {
  return {
    ad_account: receipt.adAccount,
    event_id: receipt.event.event_id,
    event: receipt.event,
    test: receipt.isTest,
    deduplicated: receipt.isDeduplicated,
    received_at: receipt.receivedAt.toISOString(),
  }
}

function removeReceived({ pinterest }: SimulatorState, { query }: ControlRequest): HttpResponse {
  // Ignoring a filter would delete more than the caller meant.
  if (query.size > 0) return messageResponse(422, 'This deletes everything and takes no filter.')
  return jsonResponse(200, { forgotten: clearPinterest(pinterest) })
}

function showSummary({ pinterest }: SimulatorState): HttpResponse {
  const live = pinterest.receipts.filter(({ isTest }) => !isTest)
  const copies = live.filter(({ isDeduplicated }) => isDeduplicated).length
  return jsonResponse(200, {
    requests: pinterest.requests,
    refused_requests: pinterest.refusedRequests,
    receipts: live.length,
    counted: live.length - copies,
    deduplicated: copies,
    test_receipts: pinterest.receipts.length - live.length,
  })
}
