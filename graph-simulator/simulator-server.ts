import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerControl } from './control-routes.ts'
import { TotalsByDataset } from './dataset-totals.ts'
import { EventCounts } from './event-counts.ts'
import { FaultInjector } from './fault-injector.ts'
import { answerGoogle, isGooglePath } from './google-ads/google-routes.ts'
import { createGoogleState } from './google-ads/google-state.ts'
import { answerGraph } from './graph-routes.ts'
import type { HttpExchange } from './http-messages.ts'
import { MatchKeyCounts } from './match-keys.ts'
import { ReceivedEvents } from './received-events.ts'
import type { SimulatorState } from './simulator-state.ts'
import { STATS_OPTIONS_DEFAULT } from './stats-options.ts'
import { answerWebhook, isWebhookPath } from './webhook/webhook-routes.ts'
import { createWebhookState } from './webhook/webhook-state.ts'

export interface SimulatorOptions {
  host: string
  /** 0 takes any free port. */
  port: number
  /** The clock of the 7-day rule, the 48-hour window and received_at. Default: the system clock. */
  now?: () => Date
  /** How many events are kept; beyond that, the oldest are dropped. Default: 500,000. */
  eventsMax?: number
}

export interface RunningSimulator {
  url: string
  /** Stops listening and closes every connection; delayed responses are never sent. */
  close(): Promise<void>
}

export const EVENTS_MAX_DEFAULT = 500_000

/** Limits the request text kept, in addition to the events: hostile bodies are 16 MiB each. */
const RECEIVED_BYTES_MAX = 1_024 * 1_024 * 1_024
/** Longer than common client pools, so that the simulator never closes an idle connection. */
const KEEP_ALIVE_MS = 75_000

/** Starts the simulator of every platform on one port. Rejects when the address cannot be bound. */
export async function startSimulator({
  host,
  port,
  now = () => new Date(),
  eventsMax = EVENTS_MAX_DEFAULT,
}: SimulatorOptions): Promise<RunningSimulator> {
  const state = createState(now, eventsMax)
  const stopping = new AbortController()
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    // A rejection is a bug: unhandled, it ends the process.
    void handleRequest(state, { request, response, stopping: stopping.signal })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: boundPort } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    async close() {
      stopping.abort()
      const closed = new Promise(resolve => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function handleRequest(
  state: SimulatorState,
  exchange: Pick<HttpExchange, 'request' | 'response' | 'stopping'>,
): Promise<void> {
  const url = exchange.request.url ?? '/'
  const queryStart = url.indexOf('?')
  const path = queryStart < 0 ? url : url.slice(0, queryStart)
  const query = new URLSearchParams(queryStart < 0 ? '' : url.slice(queryStart + 1))
  const isControl = path === '/_simulator' || path.startsWith('/_simulator/')
  const request = { ...exchange, path, query }
  if (isControl) return answerControl(state, request)
  if (isWebhookPath(path)) return answerWebhook(state, request)
  return isGooglePath(path) ? answerGoogle(state, request) : answerGraph(state, request)
}

function createState(now: () => Date, eventsMax: number): SimulatorState {
  return {
    received: new ReceivedEvents({ eventsMax, bytesMax: RECEIVED_BYTES_MAX }),
    totals: new TotalsByDataset(),
    counts: new EventCounts(eventsMax),
    stats: STATS_OPTIONS_DEFAULT,
    matchKeys: new MatchKeyCounts(),
    faults: new FaultInjector(),
    google: createGoogleState(eventsMax),
    webhook: createWebhookState(eventsMax),
    revokedTokens: new Set(),
    now,
    startedAt: now(),
  }
}
