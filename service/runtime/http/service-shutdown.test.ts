import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { it } from 'node:test'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

// Browsers and load balancers open connections before they have a request for them.
it('a shutdown does not wait for a connection that never sent a request', async test => {
  const service = await startTestService(test, { isShared: false })
  const { hostname, port } = new URL(service.url)
  const unused = connect(Number(port), hostname)
  await once(unused, 'connect')
  test.after(() => unused.destroy())
  const used = connect(Number(port), hostname)
  used.write('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(used, 'data')
  let isClosed = false
  const closing = service.server.close().then(() => {
    isClosed = true
  })
  const { headersTimeout } = service.server.app.server
  await waitUntil('the service has ended', () => isClosed, headersTimeout / 1_000 / 4)
  await closing
})

// A client's pool sends on an open connection until it hears that it ends.
it('a shutdown answers what arrived on open connections and was not read yet', async test => {
  const service = await startTestService(test, { isShared: false })
  const { hostname, port } = new URL(service.url)
  const connections = await Promise.all(
    ['a new connection', 'a used one'].map(async name => {
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      test.after(() => socket.destroy())
      return { name, socket }
    }),
  )
  connections[1]?.socket.write('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(connections[1]?.socket as Socket, 'data')
  const answers = connections.map(async ({ name, socket }) => {
    let text = ''
    socket.setEncoding('utf8').on('data', chunk => {
      text += chunk
    })
    const ended = once(socket, 'end')
    socket.write('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n')
    await ended
    return [name, text.slice(0, 15), /^connection: close\r$/im.test(text)]
  })
  const closing = service.server.close()
  assert.deepEqual(await Promise.all(answers), [
    ['a new connection', 'HTTP/1.1 200 OK', true],
    ['a used one', 'HTTP/1.1 200 OK', true],
  ])
  await closing
})
