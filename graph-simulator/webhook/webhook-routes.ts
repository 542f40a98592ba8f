import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import {
  type HttpExchange,
  type HttpResponse,
  jsonResponse,
  messageResponse,
  readBody,
  sendReply,
  withHeaders,
} from '../http-messages.ts'
import type { SimulatorState } from '../simulator-state.ts'
import { eventsOf, holdMessage, type WebhookFaultRule, type WebhookState } from './webhook-state.ts'

const PREFIX = '/webhook/'
const BODY_BYTES_MAX = 16 * 1_024 * 1_024
const TOLERANCE_SECONDS = 300

/** `/webhook/<address>`: the endpoint with this address, percent-encoded. */
export function isWebhookPath(path: string): boolean {
  return path.startsWith(PREFIX)
}

/** One request to an endpoint: faults first, then the signature, then the message. */
export async function answerWebhook(state: SimulatorState, exchange: HttpExchange): Promise<void> {
  const { request, response, path } = exchange
  const bytes = await readBody(request, BODY_BYTES_MAX)
  if (bytes === 'gone') return void response.destroy()
  const url = decodeAddress(path.slice(PREFIX.length))
  if (url === null || request.method !== 'POST')
    return sendReply(exchange, messageResponse(404, 'There is no such endpoint.'), undefined)
  if (bytes === 'too_large')
    return sendReply(exchange, messageResponse(413, 'The message is too large.'), undefined)
  const received = { url, headers: request.headers, body: bytes.toString('utf8') }
  const { reply, fault } = receive(state, received)
  await sendReply(exchange, reply, fault)
}

function decodeAddress(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return null
  }
}

interface ReceivedRequest {
  url: string
  headers: IncomingHttpHeaders
  body: string
}

function receive({ webhook, now }: SimulatorState, received: ReceivedRequest) {
  const message = parseObject(received.body) ?? {}
  const fault = webhook.faults.selectFault({ url: received.url, message })
  const isAnswered = fault?.respond !== undefined || fault?.abort === 'before_response'
  const reply = isAnswered
    ? scriptedResponse(fault)
    : takeMessage(webhook, { ...received, message, at: now() })
  if (reply.status >= 300) webhook.refusedRequests += 1
  return { reply: withHeaders(reply, fault?.headers), fault }
}

function scriptedResponse({ respond = { status: 500 } }: WebhookFaultRule): HttpResponse {
  const { status, body = '', headers } = respond
  return withHeaders({ status, body, headers: {} }, headers)
}

interface ReceivedMessageRequest extends ReceivedRequest {
  message: Record<string, unknown>
  at: Date
}

/** Checks as a receiver must: the signature and the time before anything of the body is used. */
function takeMessage(state: WebhookState, request: ReceivedMessageRequest): HttpResponse {
  const { url, headers, message, at } = request
  const id = headers['webhook-id']
  const isGenuine = typeof id === 'string' && isSigned(state, request, id)
  if (!isGenuine) return messageResponse(401, 'The signature or the time is wrong.')
  const { type, data, test } = message
  if (typeof type !== 'string' || !isObject(data))
    return messageResponse(400, 'The message has no type or no data.')
  if (!eventsOf(data).every(isNamed))
    return messageResponse(422, 'An event has no event_id or no event_name.')
  holdMessage(state, { url, id, receivedAt: at, type, isTest: test === true, data })
  return jsonResponse(200, { received: true })
}

function isNamed({ event_id, event_name }: Record<string, unknown>): boolean {
  return Boolean(event_id && event_name)
}

/** Their secret follows from the address, as Signalbox creates them for the simulator. */
const SIMULATED_ENDPOINTS = 'https://hooks.example.com/'

/** The secret of another endpoint is not known until a test registers it. */
function isSigned(
  { secrets }: WebhookState,
  { url, headers, body, at }: ReceivedMessageRequest,
  id: string,
): boolean {
  const timestamp = String(headers['webhook-timestamp'] ?? '')
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  if (!(Math.abs(at.getTime() / 1_000 - seconds) <= TOLERANCE_SECONDS)) return false
  const given = String(headers['webhook-signature'] ?? '').split(' ')
  const content = `${id}.${timestamp}.${body}`
  const registered = secrets.get(url)
  if (registered === undefined && !url.startsWith(SIMULATED_ENDPOINTS)) return true
  const known = registered ?? [simulatorSecret(url)]
  return known.some(secret => given.some(one => isEqual(one, computeSignature(secret, content))))
}

function computeSignature(secret: string, content: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

function isEqual(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** The secret of a simulated endpoint that no test registered. */
function simulatorSecret(url: string): string {
  return `whsec_${createHash('sha256').update(`signalbox-simulator ${url}`).digest('base64')}`
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
