import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A program that does the minimum that a Node HTTP service can do with a submission: it reads the
 * body, parses it as JSON, and responds with 202 and a small JSON object. No framework, credential,
 * validation or store. The cost of the service is reported as a multiple of it, which depends less
 * on the machine than seconds do.
 */
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => answer(request, response, Buffer.concat(chunks)))
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.send?.({ origin: `http://127.0.0.1:${port}`, trackerSecret: 'none' })
})
process.once('disconnect', () => process.exit(0))

function answer(_: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const { event_id } = JSON.parse(body.toString('utf8'))
  const text = JSON.stringify({ event_id, duplicate: false, warnings: [], notices: [] })
  response.writeHead(202, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}
