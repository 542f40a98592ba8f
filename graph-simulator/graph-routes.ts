import type { ServerResponse } from 'node:http'
import { readDatasetQuality } from './dataset-quality.ts'
import { readDatasetStats } from './dataset-stats.ts'
import type { FaultEdge } from './fault-rules.ts'
import {
  bodyTooLarge,
  type GraphError,
  unknownPath,
  unknownVersion,
  unsupportedRequest,
} from './graph-errors.ts'
import { type GraphReply, graphErrorResponse, newTraceId } from './graph-response.ts'
import { type HttpExchange, readBody, sendReply, writeResponse } from './http-messages.ts'
import { receiveEvents } from './receive-events.ts'
import { answerReportRequest, type ReportReader } from './report-requests.ts'
import type { SimulatorState } from './simulator-state.ts'

const EVENTS_BODY_BYTES_MAX = 16 * 1_024 * 1_024

const VERSION = /^v\d+\.\d+$/
const DATASET = /^\d{1,32}$/

/** Every path outside /_simulator: the Graph API with its three edges. */
export async function answerGraph(state: SimulatorState, exchange: HttpExchange): Promise<void> {
  const { request, response } = exchange
  const { edge, version, dataset } = parsePath(exchange)
  if (edge === undefined) return sendError(response, unknownPath())
  const pathError = findPathError(request.method ?? '', { edge, version, dataset })
  if (pathError) return sendError(response, pathError)
  if (edge === 'events') return handleEvents(state, exchange, dataset)
  const { path, query } = exchange
  const reply = answerReportRequest(
    state,
    {
      edge,
      dataset,
      query,
      authorization: request.headers.authorization,
      url: `http://${request.headers.host ?? ''}${path}`,
    },
    REPORT_READERS[edge],
  )
  await sendResponse(exchange, reply)
}

const REPORT_READERS: Record<Exclude<FaultEdge, 'events'>, ReportReader> = {
  stats: readDatasetStats,
  dataset_quality: readDatasetQuality,
}

interface GraphPath {
  version: string
  dataset: string
  /** Undefined when the edge does not exist. */
  edge: FaultEdge | undefined
}

/** The quality edge takes the dataset from the query and not from the path. */
function parsePath({ path, query }: HttpExchange): GraphPath {
  const [version = '', dataset = '', ...rest] = path.slice(1).split('/')
  if (dataset === 'dataset_quality' && rest.length === 0)
    return { version, dataset: query.get('dataset_id') ?? '', edge: 'dataset_quality' }
  const name = rest.join('/')
  return { version, dataset, edge: name === 'events' || name === 'stats' ? name : undefined }
}

async function handleEvents(
  state: SimulatorState,
  exchange: HttpExchange,
  dataset: string,
): Promise<void> {
  const { request, response, query } = exchange
  const body = await readBody(request, EVENTS_BODY_BYTES_MAX)
  if (body === 'gone') return void response.destroy()
  if (body === 'too_large') {
    state.totals.countRefused(dataset)
    return sendError(response, bodyTooLarge(EVENTS_BODY_BYTES_MAX))
  }
  const reply = receiveEvents(state, {
    dataset,
    authorization: request.headers.authorization,
    queryToken: query.get('access_token') ?? undefined,
    contentType: request.headers['content-type'] ?? '',
    body,
  })
  await sendResponse(exchange, reply)
}

function findPathError(
  method: string,
  { version, dataset, edge }: GraphPath & { edge: FaultEdge },
): GraphError | undefined {
  if (!VERSION.test(version)) return unknownVersion()
  const isAllowed = method === (edge === 'events' ? 'POST' : 'GET')
  return DATASET.test(dataset) && isAllowed ? undefined : unsupportedRequest(method)
}

function sendResponse(exchange: HttpExchange, { response, fault }: GraphReply): Promise<void> {
  return sendReply(exchange, response, fault)
}

function sendError(response: ServerResponse, error: GraphError): void {
  writeResponse(response, graphErrorResponse(error, newTraceId()), undefined)
}
