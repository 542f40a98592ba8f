import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { ServiceLogger } from '../http/service-app.ts'
import type { MetricsSnapshot } from '../metrics/metrics-registry.ts'
import { monotonicSeconds } from '../util/monotonic-clock.ts'
import {
  type HttpWorkerConfig,
  type MessageFromWorker,
  type MessageToWorker,
  PendingRequests,
} from './http-worker-messages.ts'
import type { HttpWorkersOptions } from './http-workers.ts'
import { StartError } from './role.ts'

const WORKER_ENTRY = new URL('./http-worker-entry.ts', import.meta.url)
/** The pause before a restart doubles with each worker that did not run long. */
const RESTART_SECONDS = { first: 0.1, max: 10 }
const STABLE_SECONDS = 60
/** A worker that is too busy to tell its figures is shown with the last ones. */
const SNAPSHOT_TIMEOUT_MILLISECONDS = 2_000

/**
 * Without a limit V8 plans for the memory of the machine and collects late: 892 MB of RSS under
 * bodies of 64 KiB, where 512 must do (`npm run bench -- acceptance`). Requests wait for their
 * commit some 60 ms, so that a small young generation promotes nearly all of them. Flags of node
 * such as --max-old-space-size come before these.
 */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 96, maxOldGenerationSizeMb: 320 }

/**
 * V8 allocates objects in the old generation when others of the same line of code outlived a
 * collection, as those do that wait for their commit. All that such an object refers to stays as
 * long, until a collection of the whole heap. Without this, `serve` takes 190 µs of processor time
 * for an event instead of 150 in more than every second run. To measure again, start it with
 * `--trace-gc-nvp` under load: `promoted=` is 1,100,000 bytes a collection, or 120,000.
 */
const DISABLE_PRETENURING = '--no-allocation-site-pretenuring'

export interface HttpWorkerOptions {
  id: number
  logger: ServiceLogger
  /** The thread ended; with the last figures that are known of it. */
  onEnded: (last: MetricsSnapshot) => void
}

type Listeners = Pick<HttpWorkersOptions, 'onPlanned' | 'circuits'>

/** One HTTP worker: its thread, and the threads that take its place when it ends. */
export class HttpWorker {
  origin = ''
  readonly #options: HttpWorkerOptions
  readonly #figures = new PendingRequests<MetricsSnapshot>()
  readonly #closing = new AbortController()
  readonly #firstStart = Promise.withResolvers<void>()
  #thread: Worker
  #order: HttpWorkerConfig | null = null
  #listeners: Listeners = { onPlanned: () => {} }
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
    // It may end before anybody waits for its start.
    this.#firstStart.promise.catch(() => {})
    this.#thread = this.#spawn()
  }

  /** Resolves when the worker listens. Throws a StartError when it ends before. */
  start(order: HttpWorkerConfig, listeners: Listeners): Promise<void> {
    this.#order = order
    this.#listeners = listeners
    this.#send({ kind: 'start', order })
    return this.#firstStart.promise
  }

  markReady(): void {
    this.#isReady = true
    if (this.#isListening) this.#send({ kind: 'ready' })
  }

  async snapshot(): Promise<MetricsSnapshot> {
    if (!this.#isListening) return this.#last
    const impatience = AbortSignal.timeout(SNAPSHOT_TIMEOUT_MILLISECONDS)
    const answer = this.#figures.send(question => this.#send({ kind: 'metrics', question }))
    const silence = once(impatience, 'abort').then(() => null)
    this.#last = (await Promise.race([answer, silence])) ?? this.#last
    return this.#last
  }

  /** Lets the worker answer and commit what it has, and resolves when its thread is gone. */
  async close(): Promise<void> {
    this.#closing.abort()
    if (this.#isGone) return
    // One that was never started has nothing to finish.
    if (!this.#order) return void (await this.#thread.terminate())
    const exited = once(this.#thread, 'exit')
    this.#send({ kind: 'close' })
    const [code] = await exited
    if (code === 0) return
    throw new Error(`HTTP worker ${this.#options.id} ended badly`, { cause: this.#failure })
  }

  #spawn(): Worker {
    const { id } = this.#options
    setFlagsFromString(DISABLE_PRETENURING)
    const thread = new Worker(WORKER_ENTRY, { name: `http ${id}`, resourceLimits: HEAP_LIMITS })
    this.#startedAt = monotonicSeconds()
    this.#failure = null
    thread.on('message', message => this.#receive(message))
    thread.on('error', error => {
      this.#failure = error
    })
    thread.on('exit', code => this.#ended(this.#failure ?? new Error(`it ended with code ${code}`)))
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
      case 'planned':
        this.#listeners.onPlanned()
        break
      case 'metrics':
        this.#figures.answer(message.question, message.snapshot)
        break
      case 'circuits': {
        const counts = this.#listeners.circuits?.()
        if (counts) this.#send({ ...message, counts })
      }
    }
  }

  #ended(err: unknown): void {
    const { id: worker, logger, onEnded } = this.#options
    this.#isGone = true
    this.#isListening = false
    onEnded(this.#last)
    this.#last = []
    if (this.#closing.signal.aborted) return
    if (this.#hasStarted) {
      logger.error({ worker, err }, 'an HTTP worker ended; it is started again')
      void this.#restart()
      return
    }
    const reason = err instanceof Error ? err.message : String(err)
    this.#firstStart.reject(
      new StartError(`An HTTP worker did not start: ${reason}`, { cause: err }),
    )
  }

  async #restart(): Promise<void> {
    const hasRunWell = monotonicSeconds() - this.#startedAt >= STABLE_SECONDS
    const pauseSeconds = hasRunWell ? RESTART_SECONDS.first : this.#pauseSeconds
    this.#pauseSeconds = Math.min(RESTART_SECONDS.max, pauseSeconds * 2)
    const { signal } = this.#closing
    await delay(pauseSeconds * 1_000, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    this.#thread = this.#spawn()
    this.#isGone = false
    if (this.#order) this.#send({ kind: 'start', order: this.#order })
  }

  #send(message: MessageToWorker): void {
    this.#thread.postMessage(message)
  }
}
