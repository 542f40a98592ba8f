import { Agent, request } from 'node:http'

export interface ThreadResponse {
  status: number
  /** The thread that answered, where `failing-thread.ts` is preloaded. */
  thread: string
  body: string
}

/** One connection that stays, so that one thread of the program answers all of it. */
export class ThreadConnection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #origin: string

  constructor(origin: string) {
    this.#origin = origin
  }

  /** Rejects when the connection breaks before the answer. */
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

/** Connections to so many different threads; the system deals them out by chance. */
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
