import { setTimeout as delay } from 'node:timers/promises'
import { type DeliveryContext, deliverLane } from './deliver-lane.ts'
import { findDueLanes, type Lane } from './store.ts'

export interface WorkerLimits {
  /** Requests in flight from this process. */
  requestsMax: number
  /** Requests in flight to one lane, so that no lane takes them all. */
  laneRequestsMax: number
  pollSeconds: number
}

export interface DeliveryWorker {
  /** Something may be due: look now instead of at the next poll. */
  wake(): void
  /** Takes nothing new, and resolves when the requests in flight are answered and settled. */
  stop(): Promise<void>
}

export interface WorkerOptions {
  context: DeliveryContext
  limits: WorkerLimits
  /** The store is out of reach, or a bug: the worker goes on, and somebody should know. */
  onError: (error: unknown) => void
  /** Called before every look at the store, for what should be tried again now and then. */
  onPoll?: () => Promise<void>
}

const ERROR_PAUSE_MILLISECONDS = 1_000

/** Starts the loop that delivers whatever is due, lane by lane. */
export function startDeliveryWorker(options: WorkerOptions): DeliveryWorker {
  const loop = new WorkerLoop(options)
  // The caller gets its handle first: what `onPoll` does may need it.
  const finished = Promise.resolve().then(() => loop.run())
  return {
    wake: () => loop.wake(),
    stop: async () => {
      loop.stop()
      await finished
    },
  }
}

class WorkerLoop {
  readonly #options: WorkerOptions
  readonly #inFlight = new Map<string, number>()
  readonly #quietUntil = new Map<string, number>()
  readonly #runs = new Set<Promise<void>>()
  #alarm = new AbortController()
  #isStopped = false

  constructor(options: WorkerOptions) {
    this.#options = options
  }

  wake(): void {
    this.#alarm.abort()
  }

  stop(): void {
    this.#isStopped = true
    this.wake()
  }

  async run(): Promise<void> {
    while (!this.#isStopped) {
      this.#alarm = new AbortController()
      try {
        await this.#options.onPoll?.()
        await this.#startDueLanes()
      } catch (error) {
        this.#options.onError(error)
        await this.#sleep(ERROR_PAUSE_MILLISECONDS)
        continue
      }
      await this.#sleep(this.#options.limits.pollSeconds * 1_000)
    }
    await Promise.all(this.#runs)
  }

  async #startDueLanes(): Promise<void> {
    const { context, limits } = this.#options
    if (this.#runs.size >= limits.requestsMax) return
    const lanes = await findDueLanes(context.database, context.now(), limits.requestsMax * 2)
    for (const lane of lanes) {
      if (this.#runs.size >= limits.requestsMax || this.#isStopped) return
      if (this.#mayStart(lane)) this.#start(lane)
    }
  }

  #mayStart(lane: Lane): boolean {
    const key = keyOf(lane)
    if ((this.#quietUntil.get(key) ?? 0) > performance.now()) return false
    const requestsMax = lane.isProbe ? 1 : this.#options.limits.laneRequestsMax
    return (this.#inFlight.get(key) ?? 0) < requestsMax
  }

  #start(lane: Lane): void {
    const key = keyOf(lane)
    this.#inFlight.set(key, (this.#inFlight.get(key) ?? 0) + 1)
    const run = this.#deliver(lane, key).finally(() => {
      if (this.#runs.size >= this.#options.limits.requestsMax) this.wake()
      const left = (this.#inFlight.get(key) ?? 1) - 1
      if (left > 0) this.#inFlight.set(key, left)
      else this.#inFlight.delete(key)
      this.#runs.delete(run)
    })
    this.#runs.add(run)
  }

  async #deliver(lane: Lane, key: string): Promise<void> {
    try {
      const wakeWhenFull = (isFull: boolean) => {
        if (isFull) this.wake()
      }
      const run = await deliverLane(this.#options.context, lane, wakeWhenFull)
      if (run.waitSeconds > 0) this.#keepQuiet(key, run.waitSeconds)
      if (run.isFull || lane.isProbe) this.wake()
    } catch (error) {
      this.#options.onError(error)
      this.#keepQuiet(key, ERROR_PAUSE_MILLISECONDS / 1_000)
    }
  }

  #keepQuiet(key: string, seconds: number): void {
    const now = performance.now()
    for (const [other, until] of this.#quietUntil) {
      if (until <= now) this.#quietUntil.delete(other)
    }
    this.#quietUntil.set(key, now + seconds * 1_000)
  }

  async #sleep(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { signal: this.#alarm.signal }).catch(() => {})
  }
}

function keyOf({ trackerId, destinationId }: Lane): string {
  return `${trackerId} ${destinationId}`
}
