import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'

/**
 * A program that responds 202 to every request and reads only lengths. It shows the limit of the
 * load generator, which must be far above that of the service.
 */
const ANSWER = Buffer.from('HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}', 'latin1')
const HEADER_END = '\r\n\r\n'

const server = createServer({ noDelay: true }, socket => {
  let requestBytes = 0
  let receivedBytes = 0
  socket.on('data', chunk => {
    // All requests of a connection have the same length; the first arrives in one piece.
    requestBytes ||= lengthOfRequest(chunk)
    receivedBytes += chunk.length
    for (; receivedBytes >= requestBytes; receivedBytes -= requestBytes) socket.write(ANSWER)
  })
  socket.on('error', () => socket.destroy())
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.send?.({ origin: `http://127.0.0.1:${port}` })
})
process.once('disconnect', () => process.exit(0))

function lengthOfRequest(chunk: Buffer): number {
  const headerEnd = chunk.indexOf(HEADER_END)
  const [, length] = /content-length: (\d+)/i.exec(chunk.toString('latin1', 0, headerEnd)) ?? []
  return headerEnd + HEADER_END.length + Number(length)
}
