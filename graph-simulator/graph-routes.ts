import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { refusalAnswer } from './graph-answer.ts'
import {
  bodyTooLarge,
  type GraphRefusal,
  unknownPath,
  unknownVersion,
  unsupportedRequest,
} from './graph-refusal.ts'
import { graphTraceId } from './graph-trace-id.ts'
import { readBody } from './read-body.ts'
import { type Reaction, receiveEvents } from './receive-events.ts'
import type { SimulatorState } from './simulator-state.ts'
import { writeAnswer } from './write-answer.ts'

export const EVENTS_BODY_BYTES_MAX = 16 * 1_024 * 1_024

export interface GraphExchange {
  request: IncomingMessage
  response: ServerResponse
  path: string
  query: URLSearchParams
  /** Ends waits when the simulator stops. */
  stopping: AbortSignal
}

const VERSION = /^v\d+\.\d+$/
const DATASET = /^\d{1,32}$/

/** Everything that is not /_simulator: the Graph API, of which one edge exists. */
export async function answerGraph(state: SimulatorState, exchange: GraphExchange): Promise<void> {
  const { request, response, path, query } = exchange
  const [version = '', dataset = '', ...edge] = path.slice(1).split('/')
  const misdirected = refusePath(request.method ?? '', { version, dataset, edge })
  if (misdirected) return refuse(response, misdirected)

  const body = await readBody(request, EVENTS_BODY_BYTES_MAX)
  if (body === 'gone') return void response.destroy()
  if (body === 'too_large') {
    state.tallies.countRefused(dataset)
    return refuse(response, bodyTooLarge(EVENTS_BODY_BYTES_MAX))
  }
  const reaction = receiveEvents(state, {
    dataset,
    authorization: request.headers.authorization,
    queryToken: query.get('access_token') ?? undefined,
    contentType: request.headers['content-type'] ?? '',
    body,
  })
  await react(exchange, reaction)
}

function refusePath(
  method: string,
  { version, dataset, edge }: { version: string; dataset: string; edge: string[] },
): GraphRefusal | undefined {
  if (edge.join('/') !== 'events') return unknownPath()
  if (!VERSION.test(version)) return unknownVersion()
  if (!DATASET.test(dataset) || method !== 'POST') return unsupportedRequest(method)
  return undefined
}

async function react(exchange: GraphExchange, { answer, fault }: Reaction): Promise<void> {
  const { response, stopping } = exchange
  if (fault?.delay_ms !== undefined) {
    try {
      await wait(fault.delay_ms, undefined, { signal: stopping })
    } catch {
      // The simulator stops: the connection is being closed, nobody waits for the answer.
      return
    }
  }
  if (fault?.abort) return void response.destroy()
  writeAnswer(response, answer, fault?.truncate)
}

function refuse(response: ServerResponse, refusal: GraphRefusal): void {
  writeAnswer(response, refusalAnswer(refusal, graphTraceId()), undefined)
}
