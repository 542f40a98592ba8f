import type { IncomingMessage } from 'node:http'
import { type ConversionFaultRule, createRules, scriptedResponse } from './conversion-faults.ts'
import { type ConversionState, createConversionState, keepEvent } from './conversion-state.ts'
import {
  type HttpExchange,
  type HttpResponse,
  jsonResponse,
  messageResponse,
  readBody,
  sendReply,
  withHeaders,
} from './http-messages.ts'
import { createFaultControls, readLimit } from './shared-controls.ts'
import type { ControlHandler, ControlRequest, SimulatorState } from './simulator-state.ts'

/**
 * A platform that takes batches of conversions as JSON and answers at once. Faults, tokens, the
 * list of what was received and its counts are the same for each; the checks and the answers are
 * the platform's own.
 */
export interface ConversionPlatform {
  /** Its controls are under `/_simulator/<name>/`. */
  name: string
  /** The path of the endpoint. The first group, if there is one, is the account. */
  path: RegExp
  /** An error in the form of the platform. Without `code`, it follows the status. */
  refuse(status: number, message: string, code?: number): HttpResponse
  /** Where the account is not a part of the path. */
  accountOf?(body: unknown, query: URLSearchParams): string
  /** The events of a request that nothing checked yet. */
  listEvents(body: unknown): unknown[]
  /** What a test and a fault rule know an event by. */
  eventIdOf(event: unknown): unknown
  isTest(post: ConversionPost): boolean
  /** Left out: the token is a bearer token. */
  readToken?(request: IncomingMessage, query: URLSearchParams): string
  /** Checks a request, and answers. `kept` are the events that were processed. */
  receive(post: ConversionPost, part: ConversionState): { reply: HttpResponse; kept: unknown[] }
  /** By which copies are counted once. Null: each copy counts. */
  dedupKeyOf(event: unknown): string | null
  /** The answer of a fault rule with `omit_results`. Left out: there are no such rules. */
  omitResults?(reply: HttpResponse): HttpResponse
}

export interface ConversionPost {
  /** Empty where the path has none. */
  account: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  /** Undefined: no JSON. */
  body: unknown
  at: Date
}

/** The addresses and the controls of a platform, for the list of parts. */
export function createConversionPart(platform: ConversionPlatform) {
  const { name } = platform
  const select = (state: SimulatorState) => stateOf(state, platform)
  const controls: Record<string, Record<string, ControlHandler>> = {
    [`/_simulator/${name}/received`]: {
      GET: (state, { query }) => showReceived(select(state), { platform, query }),
      DELETE: (state, request) => removeReceived(select(state), request),
    },
    [`/_simulator/${name}/summary`]: { GET: state => showSummary(select(state)) },
    [`/_simulator/${name}/faults`]: createFaultControls(
      state => select(state).faults,
      createRules({ canOmitResults: platform.omitResults !== undefined }),
    ),
  }
  return {
    serves: (path: string) => platform.path.test(path),
    answer: (state: SimulatorState, exchange: HttpExchange) =>
      answerConversions(platform, state, exchange),
    controls,
  }
}

function stateOf({ conversions }: SimulatorState, { name }: ConversionPlatform): ConversionState {
  const state = conversions.get(name) ?? createConversionState()
  conversions.set(name, state)
  return state
}

const BODY_BYTES_MAX = 16 * 1_024 * 1_024

/** One request: faults first, then the token, then the request itself. */
async function answerConversions(
  platform: ConversionPlatform,
  state: SimulatorState,
  exchange: HttpExchange,
): Promise<void> {
  const { request, response, path, query } = exchange
  const bytes = await readBody(request, BODY_BYTES_MAX)
  if (bytes === 'gone') return void response.destroy()
  const refuse = (status: number, message: string) =>
    sendReply(exchange, platform.refuse(status, message), undefined)
  if (request.method !== 'POST') return refuse(405, 'Method not allowed.')
  if (bytes === 'too_large') return refuse(413, 'The request is too large.')
  const body = parse(bytes)
  const account = platform.accountOf?.(body, query) ?? platform.path.exec(path)?.[1] ?? ''
  const { headers } = request
  const post = { account, path, query, headers, body, at: state.now() }
  const part = stateOf(state, platform)
  const isTest = platform.isTest(post)
  const eventIds = platform.listEvents(post.body).map(platform.eventIdOf)
  const fault = part.faults.selectFault({ account, isTest, eventIds, at: post.at })
  const token = platform.readToken?.(request, query) ?? readBearerToken(request)
  const isKnown = token !== '' && !state.revokedTokens.has(token)
  const { reply, kept } = answerPost({ platform, part, post, fault, isKnown })
  for (const event of kept) {
    const { eventsMax } = state
    const dedupKey = platform.dedupKeyOf(event)
    keepEvent(part, { account, event, isTest, receivedAt: post.at, dedupKey, eventsMax })
  }
  if (kept.length === 0) part.refusedRequests += 1
  else part.requests += 1
  await sendReply(exchange, withHeaders(reply, fault?.headers), fault)
}

interface Answering {
  platform: ConversionPlatform
  part: ConversionState
  post: ConversionPost
  fault: ConversionFaultRule | undefined
  isKnown: boolean
}

function answerPost({ platform, part, post, fault, isKnown }: Answering) {
  const isAnswered = fault?.respond !== undefined || fault?.abort === 'before_response'
  if (isAnswered) return { reply: scriptedResponse(platform.refuse, fault), kept: [] }
  if (!isKnown) return { reply: platform.refuse(401, 'Authentication failed.'), kept: [] }
  const { reply, kept } = platform.receive(post, part)
  const omitted = fault?.omit_results ? platform.omitResults?.(reply) : undefined
  return { reply: omitted ?? reply, kept }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

function readBearerToken({ headers }: IncomingMessage): string {
  return /^Bearer\s+(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
}

interface Listing {
  platform: ConversionPlatform
  query: URLSearchParams
}

function showReceived({ receipts }: ConversionState, { platform, query }: Listing): HttpResponse {
  const isAsked = (name: string, value: unknown) => {
    const asked = query.get(name)
    return asked === null || asked === String(value)
  }
  const matches = receipts.filter(
    ({ account, event }) =>
      isAsked('account', account) && isAsked('event_id', platform.eventIdOf(event)),
  )
  const events = matches.slice(0, readLimit(query)).map(receipt => ({
    account: receipt.account,
    event_id: platform.eventIdOf(receipt.event),
    event: receipt.event,
    test: receipt.isTest,
    deduplicated: receipt.isDeduplicated,
    received_at: receipt.receivedAt.toISOString(),
  }))
  return jsonResponse(200, { count: matches.length, events })
}

/** Forgets what was received; faults stay. */
function removeReceived(part: ConversionState, { query }: ControlRequest): HttpResponse {
  // Ignoring a filter would delete more than the caller meant.
  if (query.size > 0) return messageResponse(422, 'This deletes everything and takes no filter.')
  const forgotten = part.receipts.length
  part.receipts = []
  part.counted.clear()
  part.requests = 0
  part.refusedRequests = 0
  return jsonResponse(200, { forgotten })
}

function showSummary({ receipts, requests, refusedRequests }: ConversionState): HttpResponse {
  const live = receipts.filter(({ isTest }) => !isTest)
  const copies = live.filter(({ isDeduplicated }) => isDeduplicated).length
  return jsonResponse(200, {
    requests,
    refused_requests: refusedRequests,
    receipts: live.length,
    counted: live.length - copies,
    deduplicated: copies,
    test_receipts: receipts.length - live.length,
  })
}
