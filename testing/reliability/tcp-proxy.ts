import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** How a proxy treats its connections; `forward` is a working network. */
export type ProxyMode =
  | { mode: 'forward' }
  /** Ends every connection and resets new ones. */
  | { mode: 'refuse' }
  | { mode: 'delay'; milliseconds: number }
  /** Takes the bytes of one direction and forwards none, so the receiver waits without an end. */
  | { mode: 'swallow'; direction: ProxyDirection }
  /** Tells one side that the other has finished sending, and keeps the connection open. */
  | { mode: 'half-close'; direction: ProxyDirection }

/** `request`: what the client sends. `response`: what the server sends. */
export type ProxyDirection = 'request' | 'response'

/** A TCP proxy in front of one server, which can fail as a network does. */
export interface TcpProxy {
  port: number
  setMode(mode: ProxyMode): void
  /** For a server that moves, such as a promoted standby; for new connections. */
  setUpstream(port: number): void
  /** Ends every connection and works normally from now on. */
  reset(): void
  close(): Promise<void>
}

interface Connection {
  client: Socket
  upstream: Socket
}

/** Listens on a free port of 127.0.0.1 until `close`. */
export async function startTcpProxy(upstreamPort: number): Promise<TcpProxy> {
  const connections = new Set<Connection>()
  let upstream = upstreamPort
  let current: ProxyMode = { mode: 'forward' }

  const server = createServer({ allowHalfOpen: true }, client => {
    if (current.mode === 'refuse') return void client.resetAndDestroy()
    const connection = { client, upstream: connect({ port: upstream, host: '127.0.0.1' }) }
    connections.add(connection)
    connection.upstream.allowHalfOpen = true
    const end = () => {
      connections.delete(connection)
      destroy(connection)
    }
    relay(connection, 'request', () => current)
    relay(connection, 'response', () => current)
    for (const socket of [client, connection.upstream]) {
      socket.setNoDelay(true)
      socket.on('error', end).on('close', end)
    }
    halfClose(connection, current)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endAll = () => {
    for (const connection of connections) destroy(connection)
    connections.clear()
  }
  return {
    port: (server.address() as AddressInfo).port,
    setMode(mode) {
      current = mode
      if (mode.mode === 'refuse') endAll()
      for (const connection of connections) halfClose(connection, mode)
    },
    setUpstream(port) {
      upstream = port
    },
    reset() {
      endAll()
      current = { mode: 'forward' }
    },
    async close() {
      endAll()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The same address with another port, such as that of a proxy. */
export function withPort(address: string, port: number): string {
  const url = new URL(address)
  url.port = String(port)
  return url.href
}

/** Keeps the order of the bytes: each chunk waits for the one before it. */
function relay(connection: Connection, direction: ProxyDirection, mode: () => ProxyMode): void {
  const [from, to] = ends(connection, direction)
  let previous: Promise<unknown> = Promise.resolve()
  from.on('data', bytes => {
    const now = mode()
    if (now.mode === 'swallow' && now.direction === direction) return
    const wait = now.mode === 'delay' ? delay(now.milliseconds) : previous
    previous = Promise.all([previous, wait]).then(() => to.writable && to.write(bytes))
  })
  from.on('end', () => {
    previous = previous.then(() => to.end())
  })
}

function halfClose(connection: Connection, mode: ProxyMode): void {
  if (mode.mode === 'half-close') ends(connection, mode.direction)[1].end()
}

function ends({ client, upstream }: Connection, direction: ProxyDirection): [Socket, Socket] {
  return direction === 'request' ? [client, upstream] : [upstream, client]
}

function destroy({ client, upstream }: Connection): void {
  client.destroy()
  upstream.destroy()
}
