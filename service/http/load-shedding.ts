import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Refusal } from './refusal.ts'
import type { ServiceApp } from './service-app.ts'

export interface SheddingOptions {
  /** The event loop may be this late for long. 0: however late. */
  eventLoopDelayMillisecondsMax: number
  /** Seconds of a clock that only goes forward. */
  monotonicSeconds: () => number
  /** How late the loop typically was since the last call; left out, it is measured. */
  readDelaySeconds?: (() => number) | undefined
  /** For counting. */
  onShed: () => void
}

const RETRY_SECONDS = 2

/** Whoever watches the process must hear that it lives, above all when it has too much to do. */
const ALWAYS_ANSWERED = new Set<string | undefined>(['/livez', '/readyz'])

/**
 * Answers 503 with `Retry-After` while the process has too much to do, before it asks who is there
 * or reads a body: then what it has begun is answered in time.
 */
export function shedLoad(app: ServiceApp, options: SheddingOptions): void {
  const { eventLoopDelayMillisecondsMax, monotonicSeconds: steadySeconds, onShed } = options
  if (eventLoopDelayMillisecondsMax === 0) return
  const overload = new OverloadDetector({
    delaySecondsMax: eventLoopDelayMillisecondsMax / 1_000,
    readDelaySeconds: options.readDelaySeconds ?? createDelayReader(app),
    monotonicSeconds: steadySeconds,
  })
  app.addHook('onRequest', (request, _reply, done) => {
    if (!overload.isShedding() || ALWAYS_ANSWERED.has(request.routeOptions.url)) return done()
    onShed()
    done(Refusal.unavailable(SENTENCE, RETRY_SECONDS, 'overloaded'))
  })
}

const SENTENCE = 'Too many requests at once; wait, then send the same request again.'

function createDelayReader(app: ServiceApp): () => number {
  const delay = monitorEventLoop()
  app.addHook('onClose', async () => delay.close())
  return delay.readSeconds
}

interface OverloadOptions {
  /** The event loop may be this late for long. */
  delaySecondsMax: number
  /** How late it typically was since the last call. */
  readDelaySeconds: () => number
  /** Seconds of a clock that only goes forward. */
  monotonicSeconds: () => number
}

const SAMPLE_SECONDS = 1
/** One long pause, such as a garbage collection, is no overload. */
const LATE_SAMPLES_MIN = 2
/** Shedding itself makes the loop faster, so it ends only well below the limit. */
const RECOVERY_RATIO = 0.5

/**
 * Says whether this process has more to do than it can do. It looks when it is asked, once a
 * second at most; between looks the answer is one comparison.
 */
export class OverloadDetector {
  readonly #options: OverloadOptions
  #lookedAt: number
  #lateLooks = 0
  #isShedding = false

  constructor(options: OverloadOptions) {
    this.#options = options
    this.#lookedAt = options.monotonicSeconds()
  }

  isShedding(): boolean {
    const now = this.#options.monotonicSeconds()
    if (now - this.#lookedAt >= SAMPLE_SECONDS) {
      this.#lookedAt = now
      this.#judge(this.#options.readDelaySeconds())
    }
    return this.#isShedding
  }

  #judge(delaySeconds: number): void {
    const { delaySecondsMax } = this.#options
    this.#lateLooks = delaySeconds > delaySecondsMax ? this.#lateLooks + 1 : 0
    this.#isShedding = this.#isShedding
      ? delaySeconds > delaySecondsMax * RECOVERY_RATIO
      : this.#lateLooks >= LATE_SAMPLES_MIN
  }
}

const RESOLUTION_MILLISECONDS = 20

interface EventLoopDelay {
  /** Seconds by which the event loop was late in the middle case, since the last call. */
  readSeconds(): number
  close(): void
}

/**
 * Measures how late this process comes to what is ready. The median and not the 99th part of a
 * hundred: a second has fifty samples, of which one pause would be the worst.
 */
export function monitorEventLoop(): EventLoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS })
  histogram.enable()
  let readAt = performance.now()

  const readSeconds = () => {
    const now = performance.now()
    // No sample at all: the loop has not come around since the last call.
    const milliseconds = histogram.count === 0 ? now - readAt : histogram.percentile(50) / 1e6
    histogram.reset()
    readAt = now
    return Math.max(0, milliseconds - RESOLUTION_MILLISECONDS) / 1_000
  }
  return { readSeconds, close: () => void histogram.disable() }
}
