import { Agent, request } from 'node:http'

export interface ThreadResponse {
  status: number
  /** The thread that responded, if `crashing-thread.ts` is preloaded. */
  thread: string
  body: string
}

/** A keep-alive connection, so that one thread of the program serves all its requests. */
export class ThreadConnection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #origin: string

  constructor(origin: string) {
    this.#origin = origin
  }

  /** Rejects when the connection closes before the response. */
  send(path: string, { method = 'GET', headers = {}, body = '' } = {}): Promise<ThreadResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<ThreadResponse>()
    const sent = request(`${this.#origin}${path}`, { method, headers, agent: this.#agent })
    sent.on('error', reject)
    sent.on('response', async response => {
      let text = ''
      for await (const chunk of response) text += chunk
      const thread = String(response.headers['x-test-thread'])
      resolve({ status: response.statusCode ?? 0, thread, body: text })
    })
    sent.end(body)
    return promise
  }

  close(): void {
    this.#agent.destroy()
  }
}

const CONNECTIONS_MAX = 200

/** Opens connections, which the system assigns at random, until they reach `count` threads. */
export async function connectToThreads(origin: string, count: number): Promise<ThreadConnection[]> {
  const byThread = new Map<string, ThreadConnection>()
  for (let tries = 0; tries < CONNECTIONS_MAX && byThread.size < count; tries += 1) {
    const connection = new ThreadConnection(origin)
    const { thread } = await connection.send('/livez')
    if (byThread.has(thread)) connection.close()
    else byThread.set(thread, connection)
  }
  if (byThread.size < count) throw new Error(`only ${byThread.size} threads answer`)
  return [...byThread.values()]
}
