import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { singleFlight } from '../util/single-flight.ts'
import { SECURITY_HEADERS } from './response-headers.ts'

export interface MetricsPage {
  contentType: string
  text: string
}

export interface MetricsServerOptions {
  host: string
  port: number
  /** Makes the page anew; those who ask meanwhile get the same one. */
  page: () => Promise<MetricsPage>
}

export interface MetricsServer {
  port: number
  close(): Promise<void>
}

/** A scrape is one short request. What takes longer than this is not coming. */
const REQUEST_MILLISECONDS_MAX = 5_000
const CONNECTIONS_MAX = 32

/**
 * Figures for Prometheus at `/metrics`, apart from the service: its port may be public, and this
 * one is not. Throws Node's own error when it cannot listen.
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  // However many ask at once, the store is asked once.
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
  // Nobody scrapes often enough for a connection to stay, and one that stays delays the end.
  const headers = { ...SECURITY_HEADERS, connection: 'close' }
  const plain = { ...headers, 'content-type': 'text/plain; charset=utf-8' }
  if (method !== 'GET' || url.split('?')[0] !== '/metrics') {
    response.writeHead(404, plain).end('The figures are at GET /metrics.\n')
    return
  }
  try {
    const { contentType, text } = await page()
    response.writeHead(200, { ...headers, 'content-type': contentType }).end(text)
  } catch {
    response.writeHead(500, plain).end('The figures could not be read.\n')
  }
}

async function closeServer(server: Server): Promise<void> {
  const end = once(server, 'close')
  server.close()
  await end
}
