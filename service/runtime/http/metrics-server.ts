import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { singleFlight } from '../util/load-cache.ts'
import { SECURITY_HEADERS } from './headers.ts'

export interface MetricsPage {
  contentType: string
  text: string
}

/** The text format of Prometheus, or OpenMetrics, which has exemplars. */
export type MetricsFormat = 'prometheus' | 'openmetrics'

export interface MetricsServerOptions {
  host: string
  port: number
  /** Renders the page; concurrent scrapes share one rendering for each format. */
  page: (format: MetricsFormat) => Promise<MetricsPage>
}

export interface MetricsServer {
  port: number
  close(): Promise<void>
}

/** A scrape is one short request. */
const REQUEST_MILLISECONDS_MAX = 5_000
const CONNECTIONS_MAX = 32

/**
 * Serves metrics for Prometheus at `/metrics`, on a port of its own: the port of the service may be
 * public. Delivery workers have no other port, so `/livez` is here too: an unavailable store fails
 * `/metrics`, but restarting the process does not help. Throws Node's error when it cannot listen.
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const pages: Record<MetricsFormat, () => Promise<MetricsPage>> = {
    prometheus: singleFlight(() => options.page('prometheus')),
    openmetrics: singleFlight(() => options.page('openmetrics')),
  }
  const server = createServer(
    { requestTimeout: REQUEST_MILLISECONDS_MAX, connectionsCheckingInterval: 1_000 },
    (request, response) => void respond(pages, request, response),
  )
  server.maxConnections = CONNECTIONS_MAX
  server.listen({ host: options.host, port: options.port })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, close: () => closeServer(server) }
}

async function respond(
  pages: Record<MetricsFormat, () => Promise<MetricsPage>>,
  { method, url = '', headers: { accept = '' } }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Scrapes are too rare for keep-alive, and an open connection delays the shutdown.
  const headers = { ...SECURITY_HEADERS, connection: 'close' }
  const plain = { ...headers, 'content-type': 'text/plain; charset=utf-8' }
  const path = method === 'GET' ? url.split('?')[0] : null
  if (path === '/livez') {
    response.writeHead(200, plain).end('ok\n')
    return
  }
  if (path !== '/metrics') {
    response.writeHead(404, plain).end('Metrics are at GET /metrics.\n')
    return
  }
  try {
    const { contentType, text } = await pages[chooseFormat(accept)]()
    const vary = { vary: 'accept', 'content-type': contentType }
    response.writeHead(200, { ...headers, ...vary }).end(text)
  } catch {
    response.writeHead(500, plain).end('The metrics could not be read.\n')
  }
}

const OPENMETRICS = 'application/openmetrics-text'

/** OpenMetrics when it is named and not behind `text/plain`: Prometheus sends qualities. */
function chooseFormat(accept: string): MetricsFormat {
  const wanted = accept.split(',').map(range => {
    const [type = '', ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
    const quality = parameters.find(part => part.startsWith('q='))?.slice(2)
    const version = parameters.find(part => part.startsWith('version='))?.slice('version='.length)
    return { type, quality: Number(quality ?? 1), isKnown: version === undefined || version < '2' }
  })
  const qualityOf = (type: string) =>
    Math.max(0, ...wanted.filter(one => one.type === type && one.isKnown).map(one => one.quality))
  const open = qualityOf(OPENMETRICS)
  return open > 0 && open >= qualityOf('text/plain') ? 'openmetrics' : 'prometheus'
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  await closed
}
