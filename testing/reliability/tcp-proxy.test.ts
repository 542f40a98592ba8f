import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../fixtures/wait-until.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

/** A server that answers what it gets with a mark before it. */
async function startEcho(test: TestContext): Promise<{ proxy: TcpProxy; received: string[] }> {
  const received: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.add(socket)
    socket.on('error', () => {}).on('end', () => received.push('end'))
    socket.on('data', bytes => {
      received.push(String(bytes))
      socket.write(`>${bytes}`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy = await startTcpProxy((server.address() as AddressInfo).port)
  test.after(async () => {
    await proxy.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { proxy, received }
}

interface Client {
  socket: Socket
  text: () => string
  hasEnded: () => boolean
  isClosed: () => boolean
}

async function openClient(test: TestContext, { port }: TcpProxy): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  test.after(() => socket.destroy())
  let [text, hasEnded, isClosed] = ['', false, false]
  socket.on('error', () => {})
  socket.on('data', bytes => {
    text += bytes
  })
  socket.on('end', () => {
    hasEnded = true
  })
  socket.on('close', () => {
    isClosed = true
  })
  await new Promise(resolve => socket.once('connect', resolve).once('close', resolve))
  return { socket, text: () => text, hasEnded: () => hasEnded, isClosed: () => isClosed }
}

it('forwards both directions', async test => {
  const { proxy } = await startEcho(test)
  const client = await openClient(test, proxy)
  client.socket.write('one')
  await waitUntil('the answer', () => client.text() === '>one')
})

it('ends all connections and refuses new ones until it is reset', async test => {
  const { proxy } = await startEcho(test)
  const client = await openClient(test, proxy)
  client.socket.write('one')
  await waitUntil('the answer', () => client.text() === '>one')
  proxy.setMode({ mode: 'refuse' })
  await waitUntil('the connection ends', () => client.hasEnded() || client.isClosed())
  const refused = await openClient(test, proxy)
  await waitUntil('the new connection is closed', refused.isClosed)
  proxy.reset()
  const next = await openClient(test, proxy)
  next.socket.write('two')
  await waitUntil('the answer', () => next.text() === '>two')
})

it('delays and keeps the order', async test => {
  const { proxy, received } = await startEcho(test)
  const client = await openClient(test, proxy)
  proxy.setMode({ mode: 'delay', milliseconds: 30 })
  for (const text of ['a', 'b', 'c']) {
    client.socket.write(text)
    await delay(5)
  }
  proxy.setMode({ mode: 'forward' })
  client.socket.write('d')
  await waitUntil('all answers', () => client.text().replaceAll('>', '') === 'abcd')
  assert.equal(received.join(''), 'abcd')
})

it('swallows responses while requests arrive', async test => {
  const { proxy, received } = await startEcho(test)
  const client = await openClient(test, proxy)
  proxy.setMode({ mode: 'swallow', direction: 'response' })
  client.socket.write('lost')
  await waitUntil('the request', () => received.includes('lost'))
  await delay(20)
  assert.deepEqual([client.text(), client.isClosed()], ['', false])
})

it('tells the client that the server has ended, and leaves the server alone', async test => {
  const { proxy, received } = await startEcho(test)
  const client = await openClient(test, proxy)
  client.socket.write('one')
  await waitUntil('the answer', () => client.text() === '>one')
  proxy.setMode({ mode: 'half-close', direction: 'response' })
  await waitUntil('the end', client.hasEnded)
  assert.deepEqual(received, ['one'])
})
