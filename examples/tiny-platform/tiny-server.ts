import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TinySale } from './tiny-payload.ts'

export interface TinyServer {
  url: string
  /** The received requests, in order. */
  requests: { board: string; key: string; test: string | null; sales: TinySale[] }[]
  /** The next responses; 204 if there are none. */
  statuses: number[]
  close(): Promise<void>
}

/** The tiny platform: a real HTTP server that receives sales. */
export async function startTinyServer(): Promise<TinyServer> {
  const requests: TinyServer['requests'] = []
  const statuses: number[] = []
  const server = createServer(async (request, response) => {
    const chunks = await Array.fromAsync(request)
    const board = request.url?.split('/').at(-1) ?? ''
    const { 'x-tiny-key': key = '', 'x-tiny-test': test = null } = request.headers
    const sales = JSON.parse(Buffer.concat(chunks as Buffer[]).toString())
    requests.push({ board, key: String(key), test: test && String(test), sales })
    response.writeHead(statuses.shift() ?? 204).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const close = async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, requests, statuses, close }
}
