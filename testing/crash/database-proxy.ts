import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A way to PostgreSQL that can break where no test could break it otherwise. */
export interface DatabaseProxy {
  connectionString: string
  /** Breaks every connection, and refuses new ones until it is mended. */
  disconnect(): void
  reconnect(): void
  /**
   * The next statement with this text in it is carried out and committed, and the connection breaks
   * instead of the answer. Resolves when that has happened.
   */
  dropResponseTo(text: string): Promise<void>
}

/** What PostgreSQL ends every answer with: ready for the next statement, in no transaction. */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1')

/** Listens for the time of the test. */
export async function startDatabaseProxy(
  test: TestContext,
  connectionString: string,
): Promise<DatabaseProxy> {
  const store = new URL(connectionString)
  const sockets = new Set<Socket>()
  let isCut = false
  let lost: { text: string; resolve: () => void } | null = null

  const server = createServer(client => {
    if (isCut) return void client.destroy()
    const upstream = connect(Number(store.port || 5_432), store.hostname)
    const breakBoth = () => {
      client.destroy()
      upstream.destroy()
    }
    let losing: (() => void) | null = null
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', breakBoth)
      socket.on('close', () => {
        sockets.delete(socket)
        breakBoth()
      })
    }
    client.on('data', bytes => {
      if (lost && bytes.includes(lost.text)) {
        losing = lost.resolve
        lost = null
      }
      upstream.write(bytes)
    })
    upstream.on('data', bytes => {
      if (!losing) return void client.write(bytes)
      if (!bytes.subarray(-READY.length).equals(READY)) return
      breakBoth()
      losing()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const own = new URL(connectionString)
  own.hostname = '127.0.0.1'
  own.port = String((server.address() as AddressInfo).port)
  return {
    connectionString: own.href,
    disconnect: () => {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    reconnect: () => {
      isCut = false
    },
    dropResponseTo: text =>
      new Promise(resolve => {
        lost = { text, resolve }
      }),
  }
}
