import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { singleFlight } from '../util/load-cache.ts'
import { SECURITY_HEADERS } from './headers.ts'

export interface MetricsPage {
  contentType: string
  text: string
}

export interface MetricsServerOptions {
  host: string
  port: number
  /** Renders the page; concurrent scrapes share one rendering. */
  page: () => Promise<MetricsPage>
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
  const page = singleFlight(options.page)
  const server = createServer(
    { requestTimeout: REQUEST_MILLISECONDS_MAX, connectionsCheckingInterval: 1_000 },
    (request, response) => void respond(page, request, response),
  )
  server.maxConnections = CONNECTIONS_MAX
  server.listen({ host: options.host, port: options.port })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, close: () => closeServer(server) }
}

async function respond(
  page: () => Promise<MetricsPage>,
  { method, url = '' }: IncomingMessage,
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
    const { contentType, text } = await page()
    response.writeHead(200, { ...headers, 'content-type': contentType }).end(text)
  } catch {
    response.writeHead(500, plain).end('The metrics could not be read.\n')
  }
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  await closed
}
