import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Answer, jsonAnswer } from './answer.ts'
import { invalidAnswer, messageAnswer } from './control-answer.ts'
import { checkObject, type FieldErrors, list, text } from './field-check.ts'
import { listReceived } from './list-received.ts'
import manifest from './package.json' with { type: 'json' }
import { readBody } from './read-body.ts'
import { readFaultRules } from './read-fault-rules.ts'
import type { SimulatorState } from './simulator-state.ts'
import {
  addOtherEvents,
  forgetOtherEvents,
  replaceStats,
  resetStats,
  showStats,
} from './stats-controls.ts'
import { writeAnswer } from './write-answer.ts'

export interface ControlExchange {
  request: IncomingMessage
  response: ServerResponse
  path: string
  query: URLSearchParams
}

interface ControlRequest {
  query: URLSearchParams
  /** The parsed JSON body; undefined when there was none. */
  body: unknown
}

type Control = (state: SimulatorState, request: ControlRequest) => Answer

const BODY_BYTES_MAX = 1_024 * 1_024
const TOKENS_MAX = 10_000
const TOKEN_LENGTH_MAX = 4_096

const CONTROLS: Record<string, Record<string, Control>> = {
  '/_simulator/health': { GET: showHealth },
  '/_simulator/summary': { GET: showSummary },
  '/_simulator/received': { GET: showReceived, DELETE: forgetReceived },
  '/_simulator/faults': { GET: showFaults, POST: replaceFaults, DELETE: clearFaults },
  '/_simulator/tokens': { POST: revokeTokens, DELETE: restoreTokens },
  '/_simulator/stats': { GET: showStats, POST: replaceStats, DELETE: resetStats },
  '/_simulator/other-events': { POST: addOtherEvents, DELETE: forgetOtherEvents },
}

/** The endpoints under /_simulator, with which a test looks at the simulator and steers it. */
export async function answerControl(
  state: SimulatorState,
  { request, response, path, query }: ControlExchange,
): Promise<void> {
  const controls = Object.hasOwn(CONTROLS, path) ? CONTROLS[path] : undefined
  const control = controls?.[request.method ?? '']
  if (!controls) return send(response, messageAnswer(404, 'There is no such control.'))
  if (!control) {
    const answer = messageAnswer(405, `Allowed here: ${Object.keys(controls).join(', ')}.`)
    answer.headers.allow = Object.keys(controls).join(', ')
    return send(response, answer)
  }
  const bytes = await readBody(request, BODY_BYTES_MAX)
  if (bytes === 'gone') return void response.destroy()
  if (bytes === 'too_large')
    return send(response, messageAnswer(413, `A body may hold ${BODY_BYTES_MAX} bytes.`))
  const parsed = parseBody(bytes)
  if ('malformed' in parsed) return send(response, messageAnswer(400, 'The body is no valid JSON.'))
  send(response, control(state, { query, body: parsed.body }))
}

function showHealth(state: SimulatorState): Answer {
  const uptime = (state.now().getTime() - state.startedAt.getTime()) / 1_000
  const simulator = 'signalbox-graph-simulator'
  return jsonAnswer(200, { simulator, version: manifest.version, uptime })
}

function showSummary(state: SimulatorState, { query }: ControlRequest): Answer {
  return jsonAnswer(200, state.tallies.summary(query.get('dataset') ?? undefined))
}

function showReceived(state: SimulatorState, { query }: ControlRequest): Answer {
  return listReceived(state, query)
}

function forgetReceived(state: SimulatorState, { query }: ControlRequest): Answer {
  // A filter that is ignored would delete more than the caller meant.
  if (query.size > 0) return messageAnswer(422, 'Everything is forgotten at once: send no filter.')
  const forgotten = state.received.forget()
  state.tallies.forget()
  state.counts.forget()
  state.matchKeys.forget()
  return jsonAnswer(200, { forgotten })
}

function showFaults(state: SimulatorState): Answer {
  return jsonAnswer(200, { rules: state.faults.shown() })
}

function replaceFaults(state: SimulatorState, { body }: ControlRequest): Answer {
  const reading = readFaultRules(body)
  if ('errors' in reading) return invalidAnswer(reading.errors)
  state.faults.replace(reading.rules)
  return showFaults(state)
}

function clearFaults(state: SimulatorState): Answer {
  state.faults.replace([])
  return showFaults(state)
}

function revokeTokens(state: SimulatorState, { body }: ControlRequest): Answer {
  const errors: FieldErrors = {}
  const members = { revoked: list(text(1, TOKEN_LENGTH_MAX), TOKENS_MAX) }
  checkObject(body, { path: '', members, required: ['revoked'] }, errors)
  if (Object.keys(errors).length > 0) return invalidAnswer(errors)

  const { revoked } = body as { revoked: string[] }
  const together = new Set([...state.revokedTokens, ...revoked])
  if (together.size > TOKENS_MAX)
    return invalidAnswer({ revoked: [`At most ${TOKENS_MAX} tokens can be revoked.`] })
  state.revokedTokens = together
  return jsonAnswer(200, { revoked: together.size })
}

function restoreTokens(state: SimulatorState): Answer {
  state.revokedTokens = new Set()
  return jsonAnswer(200, { revoked: 0 })
}

function parseBody(bytes: Buffer): { body: unknown } | { malformed: true } {
  if (bytes.length === 0) return { body: undefined }
  try {
    return { body: JSON.parse(bytes.toString('utf8')) }
  } catch {
    return { malformed: true }
  }
}

function send(response: ServerResponse, answer: Answer): void {
  writeAnswer(response, answer, undefined)
}
