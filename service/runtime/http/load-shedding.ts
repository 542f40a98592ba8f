import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Refusal } from './refusal.ts'
import type { ServiceApp } from './service-app.ts'

export interface SheddingOptions {
  /** The longest acceptable event loop delay. 0 disables shedding. */
  settings: { eventLoopDelayMillisecondsMax: number }
  monotonicSeconds: () => number
  /** Returns the median delay since the last call; measured by default. */
  readDelaySeconds?: (() => number) | undefined
  /** For metrics. */
  onShed: () => void
}

const RETRY_SECONDS = 2

/** Health checks must succeed, above all under load. */
const ALWAYS_ANSWERED = new Set<string | undefined>(['/livez', '/readyz'])

/**
 * Responds with 503 and `Retry-After` while the process is overloaded, before authentication and
 * before the body is read, so that the requests in progress finish in time.
 */
export function shedLoad(app: ServiceApp, options: SheddingOptions): void {
  const { monotonicSeconds, onShed } = options
  const { eventLoopDelayMillisecondsMax } = options.settings
  if (eventLoopDelayMillisecondsMax === 0) return
  const overload = new OverloadDetector({
    delaySecondsMax: eventLoopDelayMillisecondsMax / 1_000,
    readDelaySeconds: options.readDelaySeconds ?? createDelayReader(app),
    monotonicSeconds,
  })
  app.shortRoad.addGate(() => !overload.isShedding())
  app.addHook('onRequest', (request, _reply, done) => {
    if (!overload.isShedding() || ALWAYS_ANSWERED.has(request.routeOptions.url)) return done()
    onShed()
    done(Refusal.unavailable(OVERLOADED, RETRY_SECONDS, 'overloaded'))
  })
}

const OVERLOADED = 'Too many requests at once; wait, then send the same request again.'

function createDelayReader(app: ServiceApp): () => number {
  const delay = monitorEventLoop()
  app.addHook('onClose', async () => delay.close())
  return delay.readSeconds
}

interface OverloadOptions {
  /** The longest acceptable event loop delay. */
  delaySecondsMax: number
  /** Returns the median delay since the last call. */
  readDelaySeconds: () => number
  monotonicSeconds: () => number
}

const SAMPLE_SECONDS = 1
/** One long pause, such as a garbage collection, is not an overload. */
const LATE_SAMPLES_MIN = 2
/** Shedding itself shortens the delay, so it ends only well below the limit. */
const RECOVERY_RATIO = 0.5

/**
 * Detects whether this process is overloaded. It samples at most once a second, when called;
 * between samples a call costs one comparison.
 */
export class OverloadDetector {
  readonly #options: OverloadOptions
  #sampledAt: number
  #lateSamples = 0
  #isShedding = false

  constructor(options: OverloadOptions) {
    this.#options = options
    this.#sampledAt = options.monotonicSeconds()
  }

  isShedding(): boolean {
    const now = this.#options.monotonicSeconds()
    if (now - this.#sampledAt >= SAMPLE_SECONDS) {
      this.#sampledAt = now
      this.#evaluate(this.#options.readDelaySeconds())
    }
    return this.#isShedding
  }

  #evaluate(delaySeconds: number): void {
    const { delaySecondsMax } = this.#options
    this.#lateSamples = delaySeconds > delaySecondsMax ? this.#lateSamples + 1 : 0
    this.#isShedding = this.#isShedding
      ? delaySeconds > delaySecondsMax * RECOVERY_RATIO
      : this.#lateSamples >= LATE_SAMPLES_MIN
  }
}

const RESOLUTION_MILLISECONDS = 20

interface EventLoopDelay {
  /** Returns the median event loop delay in seconds since the last call. */
  readSeconds(): number
  close(): void
}

/**
 * Measures the event loop delay. The median and not the 99th percentile: a second has fifty
 * samples, so one pause would decide the 99th percentile.
 */
export function monitorEventLoop(): EventLoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS })
  histogram.enable()
  let readAt = performance.now()

  const readSeconds = () => {
    const now = performance.now()
    // Without a sample the loop has been blocked since the last call.
    const milliseconds = histogram.count === 0 ? now - readAt : histogram.percentile(50) / 1e6
    histogram.reset()
    readAt = now
    return Math.max(0, milliseconds - RESOLUTION_MILLISECONDS) / 1_000
  }
  return { readSeconds, close: () => void histogram.disable() }
}
