import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { it, type TestContext } from 'node:test'
import type { LiveMessage } from '@signalbox/contract/session/live.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { EventStream } from './event-stream.ts'

const MESSAGE: LiveMessage = { events: [], changed: [], has_left_out: false }
const ID = '2026-11-21T12:00:00.000Z'

/** A stream to a client that reads nothing until `resume`. */
async function openStream(test: TestContext) {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  test.after(() => socket.destroy())
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  const [, response] = await once(server, 'request')
  return { stream: new EventStream(response, () => response.writeHead(200)), socket, response }
}

it('disconnects a reader that does not read', async test => {
  const { stream } = await openStream(test)
  let closes = 0
  stream.onClose(() => {
    closes += 1
  })
  const id = 'x'.repeat(100_000)
  let sent = 0
  while (!stream.isEnded && sent < 1_000) {
    stream.send(MESSAGE, id)
    sent += 1
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.ok(stream.isEnded, 'the buffers of the system are some megabytes')
  await waitUntil('it is closed', () => closes === 1)
  stream.send(MESSAGE, ID)
  stream.end()
})

it('frees the place of a reader that does not read when its session ends', async test => {
  const { stream, response } = await openStream(test)
  let closes = 0
  stream.onClose(() => {
    closes += 1
  })
  const id = 'x'.repeat(100_000)
  for (let sent = 0; response.writableLength === 0 && sent < 1_000; sent += 1) {
    stream.send(MESSAGE, id)
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.equal(stream.isEnded, false, 'it is behind, and not far enough to be disconnected')
  stream.end()
  await waitUntil('it is closed', () => closes === 1)
})

it('keeps a reader that is slow for a while', async test => {
  const { stream, socket } = await openStream(test)
  for (let count = 0; count < 5; count += 1) stream.send(MESSAGE, 'x'.repeat(100_000))
  stream.sendHeartbeat(ID)
  assert.equal(stream.isEnded, false)
  let text = ''
  socket.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  socket.resume()
  await waitUntil('all of it is read', () => text.includes(': heartbeat'))
  assert.equal(text.match(/^data: /gm)?.length, 5)
  assert.ok(text.includes('retry: 2000\n\n'))
  assert.ok(text.includes(`: heartbeat\nid: ${ID}\n\n`), 'an ID without data')
  stream.end()
  await once(socket, 'end')
})

it('writes no head before the first message', async test => {
  const { stream } = await openStream(test)
  stream.sendHeartbeat(ID)
  assert.equal(stream.isOpen, false)
  stream.send(MESSAGE, ID)
  assert.equal(stream.isOpen, true)
})

it('has ended when the client left before the stream was opened', async test => {
  const { socket, response } = await openStream(test)
  socket.destroy()
  await once(response, 'close')
  const stream = new EventStream(response, () => assert.fail('nothing is written'))
  assert.equal(stream.isEnded, true)
  stream.send(MESSAGE, ID)
  assert.equal(stream.isOpen, false)
})
