import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { FaultEdge } from './fault-rule.ts'
import { refusalAnswer } from './graph-answer.ts'
import { answerReading, type Reader } from './graph-reading.ts'
import {
  bodyTooLarge,
  type GraphRefusal,
  unknownPath,
  unknownVersion,
  unsupportedRequest,
} from './graph-refusal.ts'
import { graphTraceId } from './graph-trace-id.ts'
import { readBody } from './read-body.ts'
import { readQuality } from './read-quality.ts'
import { readStats } from './read-stats.ts'
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

/** Everything that is not /_simulator: the Graph API, of which three edges exist. */
export async function answerGraph(state: SimulatorState, exchange: GraphExchange): Promise<void> {
  const { request, response } = exchange
  const { edge, version, dataset } = placeOf(exchange)
  if (edge === undefined) return refuse(response, unknownPath())
  const misdirected = refusePlace(request.method ?? '', { edge, version, dataset })
  if (misdirected) return refuse(response, misdirected)
  if (edge === 'events') return takeEvents(state, exchange, dataset)
  const { path, query } = exchange
  const reaction = answerReading(
    state,
    {
      edge,
      dataset,
      query,
      authorization: request.headers.authorization,
      address: `http://${request.headers.host ?? ''}${path}`,
    },
    READERS[edge],
  )
  await react(exchange, reaction)
}

const READERS: Record<Exclude<FaultEdge, 'events'>, Reader> = {
  stats: readStats,
  dataset_quality: readQuality,
}

interface Place {
  version: string
  dataset: string
  /** Undefined when there is no such edge. */
  edge: FaultEdge | undefined
}

/** The quality edge stands beside the datasets and not under one of them. */
function placeOf({ path, query }: GraphExchange): Place {
  const [version = '', dataset = '', ...rest] = path.slice(1).split('/')
  if (dataset === 'dataset_quality' && rest.length === 0)
    return { version, dataset: query.get('dataset_id') ?? '', edge: 'dataset_quality' }
  const name = rest.join('/')
  return { version, dataset, edge: name === 'events' || name === 'stats' ? name : undefined }
}

async function takeEvents(
  state: SimulatorState,
  exchange: GraphExchange,
  dataset: string,
): Promise<void> {
  const { request, response, query } = exchange
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

function refusePlace(
  method: string,
  { version, dataset, edge }: Place & { edge: FaultEdge },
): GraphRefusal | undefined {
  if (!VERSION.test(version)) return unknownVersion()
  const isAllowed = method === (edge === 'events' ? 'POST' : 'GET')
  return DATASET.test(dataset) && isAllowed ? undefined : unsupportedRequest(method)
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
