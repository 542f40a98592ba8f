import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerControl } from './control-routes.ts'
import { TotalsByDataset } from './dataset-totals.ts'
import { EventCounts } from './event-counts.ts'
import { FaultInjector } from './fault-injector.ts'
import { answerGraph } from './graph-routes.ts'
import { MatchKeyCounts } from './match-keys.ts'
import { ReceivedEvents } from './received-events.ts'
import type { SimulatorState } from './simulator-state.ts'
import { STATS_OPTIONS_DEFAULT } from './stats-options.ts'

export interface SimulatorOptions {
  host: string
  /** 0 takes any free port. */
  port: number
  /** The clock for the 7-day rule, the 48-hour window and received_at; the system's by default. */
  now?: () => Date
  /** How many events are kept; the oldest are dropped. Default 500,000. */
  eventsMax?: number
}

export interface RunningSimulator {
  url: string
  /** Stops listening and closes every connection; answers that are being delayed never come. */
  close(): Promise<void>
}

export const EVENTS_MAX_DEFAULT = 500_000

/** Request text kept at most, whatever the number of events: hostile bodies are 16 MiB each. */
const RECEIVED_BYTES_MAX = 1_024 * 1_024 * 1_024
/** Longer than the pools of the usual clients, so that it is never us who close an idle one. */
const KEEP_ALIVE_MS = 75_000

/** Starts a stand-in for Meta's Graph API. Rejects when the address cannot be listened on. */
export async function startSimulator({
  host,
  port,
  now = () => new Date(),
  eventsMax = EVENTS_MAX_DEFAULT,
}: SimulatorOptions): Promise<RunningSimulator> {
  const state = emptyState(now, eventsMax)
  const stopping = new AbortController()
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    // A rejection here is a bug of ours; left unhandled it ends the process, loudly.
    void handleRequest(state, { request, response, stopping: stopping.signal })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: portTaken } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${portTaken}`,
    async close() {
      stopping.abort()
      const closed = new Promise(resolve => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

interface HttpExchange {
  request: IncomingMessage
  response: ServerResponse
  stopping: AbortSignal
}

function handleRequest(state: SimulatorState, exchange: HttpExchange): Promise<void> {
  const url = exchange.request.url ?? '/'
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1))
  const isControl = path === '/_simulator' || path.startsWith('/_simulator/')
  return isControl
    ? answerControl(state, { ...exchange, path, query })
    : answerGraph(state, { ...exchange, path, query })
}

function emptyState(now: () => Date, eventsMax: number): SimulatorState {
  return {
    received: new ReceivedEvents({ eventsMax, bytesMax: RECEIVED_BYTES_MAX }),
    totals: new TotalsByDataset(),
    counts: new EventCounts(eventsMax),
    stats: STATS_OPTIONS_DEFAULT,
    matchKeys: new MatchKeyCounts(),
    faults: new FaultInjector(),
    revokedTokens: new Set(),
    now,
    startedAt: now(),
  }
}
