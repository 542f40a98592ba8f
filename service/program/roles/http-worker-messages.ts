import type { Settings } from '../../runtime/settings/settings.ts'
import type { CircuitCounts } from '../../signals/delivery/circuit-breaker.ts'
import type { MetricsSnapshot } from '../metrics/metrics-registry.ts'
import type { ServerOptions } from '../server/server.ts'

/** What an HTTP worker starts with. All of it can be sent to another thread. */
export interface HttpWorkerConfig {
  /** Counts from 1; its log lines show it. */
  id: number
  role: string
  /** The settings of the program, with this worker's share of the connections and the queue. */
  settings: Settings
  connectionString: string
  /** Null: the platforms have the addresses of the settings. */
  simulatorUrl: string | null
  /**
   * Whether the main thread delivers: then a message wakes it when deliveries are planned, and it
   * answers with the state of its circuits. A message costs each of the two threads 100 µs a
   * commit.
   */
  isDelivering: boolean
  /** Whether other sockets listen on the same port. */
  reusePort: boolean
  shared: NonNullable<ServerOptions['shared']>
}

export type MessageToWorker =
  | { kind: 'start'; config: HttpWorkerConfig }
  | { kind: 'ready' }
  | { kind: 'close' }
  | { kind: 'metrics'; requestId: number }
  | { kind: 'circuits'; requestId: number; counts: CircuitCounts }

export type MessageFromWorker =
  | { kind: 'listening'; origin: string }
  /** The worker answers `/readyz` with 200 from now on. */
  | { kind: 'ready' }
  /** Deliveries were planned. */
  | { kind: 'planned' }
  | { kind: 'metrics'; requestId: number; snapshot: MetricsSnapshot }
  | { kind: 'circuits'; requestId: number }

/** Requests to the other thread that wait for a response. */
export class PendingRequests<Response> {
  readonly #pending = new Map<number, (response: Response) => void>()
  #lastId = 0

  send(send: (requestId: number) => void): Promise<Response> {
    this.#lastId += 1
    const requestId = this.#lastId
    return new Promise(resolve => {
      this.#pending.set(requestId, resolve)
      send(requestId)
    })
  }

  resolve(requestId: number, response: Response): void {
    this.#pending.get(requestId)?.(response)
    this.#pending.delete(requestId)
  }
}
