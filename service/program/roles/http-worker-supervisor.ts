import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import { monotonicSeconds } from '../../runtime/util/time.ts'
import type { CircuitCounts } from '../../signals/delivery/circuit-breaker.ts'
import type { MetricsSnapshot } from '../metrics/metrics-registry.ts'
import {
  type HttpWorkerConfig,
  type MessageFromWorker,
  type MessageToWorker,
  PendingRequests,
} from './http-worker-messages.ts'
import { StartError } from './role.ts'

const WORKER_ENTRY = new URL('./http-thread.ts', import.meta.url)
/** The pause before a restart doubles with each worker that did not run long. */
const RESTART_SECONDS = { first: 0.1, max: 10 }
const STABLE_SECONDS = 60
/** A worker that is too busy to answer is shown with its last metrics. */
const SNAPSHOT_TIMEOUT_MILLISECONDS = 2_000

/**
 * Without a limit V8 plans for the memory of the machine and collects late: 892 MB of RSS with
 * bodies of 64 KiB, where 512 must be enough (`npm run bench -- acceptance`). Requests wait some 60
 * ms for their commit, so a small young generation promotes nearly all of them: with 24 MB instead
 * of 48 an event costs a tenth more and nothing is saved; 96 MB take 60 MB more and save 3 %
 * (docs/decisions/0070). Flags of Node such as --max-old-space-size override these limits.
 */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 48, maxOldGenerationSizeMb: 320 }

/**
 * V8 allocates objects directly in the old generation when earlier objects of the same line of code
 * survived a collection, as objects do that wait for their commit. Everything they refer to then
 * stays until a collection of the whole heap. Without this flag `serve` takes 190 µs of CPU time
 * for an event instead of 150, in more than half of all runs. To measure it again, start `serve`
 * with `--trace-gc-nvp` under load: `promoted=` is 1,100,000 bytes a collection without the flag,
 * 120,000 with it.
 */
const DISABLE_PRETENURING = '--no-allocation-site-pretenuring'

export interface HttpWorkerOptions {
  id: number
  logger: ServiceLogger
  /** The thread ended; with its last known metrics. */
  onEnded: (last: MetricsSnapshot) => void
}

export interface HttpWorkerListeners {
  /** A worker planned deliveries. */
  onPlanned: () => void
  /** The state of the circuits of the main thread; left out where it delivers nothing. */
  circuits?: () => CircuitCounts
}

/** One HTTP worker: its thread, and the threads that replace it when it ends. */
export class HttpWorker {
  origin = ''
  readonly #options: HttpWorkerOptions
  readonly #snapshots = new PendingRequests<MetricsSnapshot>()
  readonly #closing = new AbortController()
  readonly #firstStart = Promise.withResolvers<void>()
  readonly #acknowledged = Promise.withResolvers<void>()
  #thread: Worker
  #config: HttpWorkerConfig | null = null
  #listeners: HttpWorkerListeners = { onPlanned: () => {} }
  #last: MetricsSnapshot = []
  #isListening = false
  #hasStarted = false
  #isReady = false
  #startedAt = 0
  #pauseSeconds = RESTART_SECONDS.first
  #isGone = false
  #failure: unknown = null

  /** The thread begins to load the program. */
  constructor(options: HttpWorkerOptions) {
    this.#options = options
    // The thread may end before a caller waits for its start.
    this.#firstStart.promise.catch(() => {})
    this.#thread = this.#spawn()
  }

  /** Resolves when the worker listens. Throws a StartError when it ends before. */
  start(config: HttpWorkerConfig, listeners: HttpWorkerListeners): Promise<void> {
    this.#config = config
    this.#listeners = listeners
    this.#send({ kind: 'start', config })
    return this.#firstStart.promise
  }

  /** Resolves when the worker answers `/readyz` with 200. One that ended becomes ready later. */
  async markReady(): Promise<void> {
    this.#isReady = true
    if (!this.#isListening) return
    this.#send({ kind: 'ready' })
    await Promise.race([this.#acknowledged.promise, once(this.#thread, 'exit')])
  }

  async snapshot(): Promise<MetricsSnapshot> {
    if (!this.#isListening) return this.#last
    const timeout = AbortSignal.timeout(SNAPSHOT_TIMEOUT_MILLISECONDS)
    const response = this.#snapshots.send(requestId => this.#send({ kind: 'metrics', requestId }))
    const timedOut = once(timeout, 'abort').then(() => null)
    this.#last = (await Promise.race([response, timedOut])) ?? this.#last
    return this.#last
  }

  /** Lets the worker answer open requests and commit them, and resolves when its thread is gone. */
  async close(): Promise<void> {
    this.#closing.abort()
    if (this.#isGone) return
    // A worker that was never started has nothing to finish.
    if (!this.#config) {
      await this.#thread.terminate()
      return
    }
    const exited = once(this.#thread, 'exit')
    this.#send({ kind: 'close' })
    const [code] = await exited
    if (code === 0) return
    throw new Error(`HTTP worker ${this.#options.id} did not end cleanly`, { cause: this.#failure })
  }

  #spawn(): Worker {
    const thread = spawnHttpThread(`http ${this.#options.id}`)
    this.#startedAt = monotonicSeconds()
    this.#failure = null
    thread.on('message', message => this.#receive(message))
    thread.on('error', error => {
      this.#failure = error
    })
    thread.on('exit', code => this.#handleExit(this.#failure ?? new Error(`exit code ${code}`)))
    return thread
  }

  #receive(message: MessageFromWorker): void {
    switch (message.kind) {
      case 'listening':
        this.origin = message.origin
        this.#isListening = true
        this.#hasStarted = true
        if (this.#isReady) this.#send({ kind: 'ready' })
        this.#firstStart.resolve()
        break
      case 'ready':
        this.#acknowledged.resolve()
        break
      case 'planned':
        this.#listeners.onPlanned()
        break
      case 'metrics':
        this.#snapshots.resolve(message.requestId, message.snapshot)
        break
      case 'circuits': {
        const counts = this.#listeners.circuits?.()
        if (counts) this.#send({ ...message, counts })
      }
    }
  }

  #handleExit(err: unknown): void {
    const { id: worker, logger, onEnded } = this.#options
    this.#isGone = true
    this.#isListening = false
    onEnded(this.#last)
    this.#last = []
    if (this.#closing.signal.aborted) return
    if (this.#hasStarted) {
      logger.error({ worker, err }, 'an HTTP worker ended; it is restarted')
      void this.#restart()
      return
    }
    const reason = err instanceof Error ? err.message : String(err)
    this.#firstStart.reject(
      new StartError(`An HTTP worker did not start: ${reason}`, { cause: err }),
    )
  }

  async #restart(): Promise<void> {
    const wasStable = monotonicSeconds() - this.#startedAt >= STABLE_SECONDS
    const pauseSeconds = wasStable ? RESTART_SECONDS.first : this.#pauseSeconds
    this.#pauseSeconds = Math.min(RESTART_SECONDS.max, pauseSeconds * 2)
    const { signal } = this.#closing
    await delay(pauseSeconds * 1_000, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    this.#thread = this.#spawn()
    this.#isGone = false
    if (this.#config) this.#send({ kind: 'start', config: this.#config })
  }

  #send(message: MessageToWorker): void {
    this.#thread.postMessage(message)
  }
}

const ADAPTER_ENTRY = new URL('../../workspaces/users/auth-adapter-thread.ts', import.meta.url)

/**
 * Throws a StartError when the adapter of the sign-in library has a method that does not hash
 * session tokens. A thread does it, while the caller opens the store, because the library takes
 * 37 MB, which most processes never need.
 */
export async function checkAuthAdapter(): Promise<void> {
  try {
    await once(new Worker(ADAPTER_ENTRY, { name: 'adapter' }), 'exit')
  } catch (cause) {
    throw new StartError((cause as Error).message, { cause })
  }
}

/** A thread that loads the service and waits for its first message. */
export function spawnHttpThread(name: string): Worker {
  setFlagsFromString(DISABLE_PRETENURING)
  return new Worker(WORKER_ENTRY, { name, resourceLimits: HEAP_LIMITS })
}
