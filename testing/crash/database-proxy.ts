import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A proxy to PostgreSQL that can drop connections and responses. */
export interface DatabaseProxy {
  connectionString: string
  /** Closes every connection and refuses new ones until `reconnect`. */
  disconnect(): void
  reconnect(): void
  /**
   * Executes and commits the next statement that contains this text, then closes the connection
   * instead of responding. Resolves when that has happened.
   */
  dropResponseTo(text: string): Promise<void>
}

/** The ReadyForQuery message that ends every response outside a transaction. */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1')

/** Listens until the test ends. */
export async function startDatabaseProxy(
  test: TestContext,
  connectionString: string,
): Promise<DatabaseProxy> {
  const store = new URL(connectionString)
  const sockets = new Set<Socket>()
  let isDisconnected = false
  let pendingDrop: { text: string; resolve: () => void } | null = null

  const server = createServer(client => {
    if (isDisconnected) return void client.destroy()
    const upstream = connect(Number(store.port || 5_432), store.hostname)
    const closeBoth = () => {
      client.destroy()
      upstream.destroy()
    }
    let onResponseDropped: (() => void) | null = null
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', closeBoth)
      socket.on('close', () => {
        sockets.delete(socket)
        closeBoth()
      })
    }
    client.on('data', bytes => {
      if (pendingDrop && bytes.includes(pendingDrop.text)) {
        onResponseDropped = pendingDrop.resolve
        pendingDrop = null
      }
      upstream.write(bytes)
    })
    upstream.on('data', bytes => {
      if (!onResponseDropped) return void client.write(bytes)
      if (!bytes.subarray(-READY.length).equals(READY)) return
      closeBoth()
      onResponseDropped()
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
      isDisconnected = true
      for (const socket of sockets) socket.destroy()
    },
    reconnect: () => {
      isDisconnected = false
    },
    dropResponseTo: text =>
      new Promise(resolve => {
        pendingDrop = { text, resolve }
      }),
  }
}
