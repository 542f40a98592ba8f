import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'

/**
 * A program that answers 202 to everything and reads nothing but lengths: against it the load
 * generator shows its own limit, which must lie far above the service's.
 */
const ANSWER = Buffer.from('HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}', 'latin1')
const HEADER_END = '\r\n\r\n'

const server = createServer({ noDelay: true }, socket => {
  let requestBytes = 0
  let receivedBytes = 0
  socket.on('data', chunk => {
    // All requests of one connection have one length; the first one comes in one piece.
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
