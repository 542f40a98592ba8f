import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseFaultRules } from './fault-rules.ts'
import { checkObject, type FieldErrors, list, text } from './field-check.ts'
import {
  type HttpResponse,
  invalidBodyResponse,
  jsonResponse,
  messageResponse,
  readBody,
  writeResponse,
} from './http-messages.ts'
import { listReceivedEvents } from './list-received-events.ts'
import manifest from './package.json' with { type: 'json' }
import { PLATFORM_PARTS } from './platform-parts.ts'
import { createFaultControls } from './shared-controls.ts'
import type { ControlHandler, ControlRequest, SimulatorState } from './simulator-state.ts'
import {
  addOtherEvents,
  clearOtherEvents,
  replaceStats,
  resetStats,
  showStats,
} from './stats-controls.ts'

export interface ControlExchange {
  request: IncomingMessage
  response: ServerResponse
  path: string
  query: URLSearchParams
}

const BODY_BYTES_MAX = 1_024 * 1_024
const TOKENS_MAX = 10_000
const TOKEN_LENGTH_MAX = 4_096

const GRAPH_CONTROLS: Record<string, Record<string, ControlHandler>> = {
  '/_simulator/health': { GET: showHealth },
  '/_simulator/summary': { GET: showSummary },
  '/_simulator/received': { GET: showReceived, DELETE: clearReceived },
  '/_simulator/faults': createFaultControls(({ faults }) => faults, parseFaultRules),
  '/_simulator/tokens': { POST: revokeTokens, DELETE: restoreTokens },
  '/_simulator/stats': { GET: showStats, POST: replaceStats, DELETE: resetStats },
  '/_simulator/other-events': { POST: addOtherEvents, DELETE: clearOtherEvents },
}

const CONTROLS: typeof GRAPH_CONTROLS = Object.assign(
  {},
  GRAPH_CONTROLS,
  ...PLATFORM_PARTS.map(({ controls }) => controls),
)

/** The endpoints under /_simulator, which let a test inspect and control the simulator. */
export async function answerControl(
  state: SimulatorState,
  { request, response, path, query }: ControlExchange,
): Promise<void> {
  const controls = Object.hasOwn(CONTROLS, path) ? CONTROLS[path] : undefined
  const control = controls?.[request.method ?? '']
  if (!controls) return send(response, messageResponse(404, 'This control does not exist.'))
  if (!control) {
    const answer = messageResponse(405, `Allowed methods: ${Object.keys(controls).join(', ')}.`)
    answer.headers.allow = Object.keys(controls).join(', ')
    return send(response, answer)
  }
  const bytes = await readBody(request, BODY_BYTES_MAX)
  if (bytes === 'gone') return void response.destroy()
  if (bytes === 'too_large')
    return send(response, messageResponse(413, `The body is larger than ${BODY_BYTES_MAX} bytes.`))
  const parsed = parseBody(bytes)
  if ('malformed' in parsed)
    return send(response, messageResponse(400, 'The body is not valid JSON.'))
  send(response, control(state, { query, body: parsed.body }))
}

function showHealth(state: SimulatorState): HttpResponse {
  const uptime = (state.now().getTime() - state.startedAt.getTime()) / 1_000
  const simulator = 'signalbox-graph-simulator'
  return jsonResponse(200, { simulator, version: manifest.version, uptime })
}

function showSummary(state: SimulatorState, { query }: ControlRequest): HttpResponse {
  return jsonResponse(200, state.totals.summary(query.get('dataset') ?? undefined))
}

function showReceived(state: SimulatorState, { query }: ControlRequest): HttpResponse {
  return listReceivedEvents(state, query)
}

function clearReceived(state: SimulatorState, { query }: ControlRequest): HttpResponse {
  // Ignoring a filter would delete more than the caller meant.
  if (query.size > 0) return messageResponse(422, 'This deletes everything and takes no filter.')
  const forgotten = state.received.clear()
  state.totals.clear()
  state.counts.clear()
  state.matchKeys.clear()
  return jsonResponse(200, { forgotten })
}

function revokeTokens(state: SimulatorState, { body }: ControlRequest): HttpResponse {
  const errors: FieldErrors = {}
  const members = { revoked: list(text(1, TOKEN_LENGTH_MAX), TOKENS_MAX) }
  checkObject(body, { path: '', members, required: ['revoked'] }, errors)
  if (Object.keys(errors).length > 0) return invalidBodyResponse(errors)

  const { revoked } = body as { revoked: string[] }
  const union = new Set([...state.revokedTokens, ...revoked])
  if (union.size > TOKENS_MAX)
    return invalidBodyResponse({ revoked: [`At most ${TOKENS_MAX} tokens can be revoked.`] })
  state.revokedTokens = union
  return jsonResponse(200, { revoked: union.size })
}

function restoreTokens(state: SimulatorState): HttpResponse {
  state.revokedTokens = new Set()
  return jsonResponse(200, { revoked: 0 })
}

function parseBody(bytes: Buffer): { body: unknown } | { malformed: true } {
  if (bytes.length === 0) return { body: undefined }
  try {
    return { body: JSON.parse(bytes.toString('utf8')) }
  } catch {
    return { malformed: true }
  }
}

function send(response: ServerResponse, answer: HttpResponse): void {
  writeResponse(response, answer, undefined)
}
