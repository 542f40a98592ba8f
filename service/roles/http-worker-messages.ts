import type { CircuitCounts } from '../delivery/circuit-breaker.ts'
import type { MetricsSnapshot } from '../metrics/metrics-registry.ts'
import type { ServerOptions } from '../server.ts'
import type { Settings } from '../settings/settings.ts'

/** What an HTTP worker is started with. Everything in it can be sent to another thread. */
export interface HttpWorkerConfig {
  /** Counts from 1; stands in its log lines. */
  id: number
  role: string
  /** As given to the program, with this worker's share of the connections and the queue. */
  settings: Settings
  connectionString: string
  /** Left out: the platform is not known, and no test purchase can be sent. */
  platformUrl: string | undefined
  /**
   * Whether the main thread delivers: then it is woken when deliveries are planned, and tells how
   * its circuits are. A message wakes its thread, which takes 100 µs a commit in each of the two.
   */
  isDelivering: boolean
  /** Whether other workers listen on the same port. */
  reusePort: boolean
  shared: NonNullable<ServerOptions['shared']>
}

export type MessageToWorker =
  | { kind: 'start'; order: HttpWorkerConfig }
  | { kind: 'ready' }
  | { kind: 'close' }
  | { kind: 'metrics'; question: number }
  | { kind: 'circuits'; question: number; counts: CircuitCounts }

export type MessageFromWorker =
  | { kind: 'listening'; origin: string }
  /** Deliveries were planned. */
  | { kind: 'planned' }
  | { kind: 'metrics'; question: number; snapshot: MetricsSnapshot }
  | { kind: 'circuits'; question: number }

/** Questions to the other thread that wait for an answer. */
export class PendingRequests<Answer> {
  readonly #waiting = new Map<number, (settle: Answer) => void>()
  #last = 0

  send(send: (question: number) => void): Promise<Answer> {
    this.#last += 1
    const question = this.#last
    return new Promise(resolve => {
      this.#waiting.set(question, resolve)
      send(question)
    })
  }

  answer(question: number, answer: Answer): void {
    this.#waiting.get(question)?.(answer)
    this.#waiting.delete(question)
  }
}
