import { setTimeout as delay } from 'node:timers/promises'
import { deliverLane, type LaneRun } from './deliver-lane.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { QuietLanes } from './quiet-lanes.ts'
import { steadySeconds } from './steady-seconds.ts'
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

const ERROR_PAUSE_SECONDS = 1

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
  readonly #context: DeliveryContext
  /** Requests in flight by destination. */
  readonly #inFlight = new Map<string, number>()
  readonly #quiet = new QuietLanes()
  readonly #runs = new Set<Promise<void>>()
  #alarm = new AbortController()
  #isStopped = false

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#context = { ...options.context, isStopping: () => this.#isStopped }
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
      // What is done now and then must not keep deliveries from going out when it fails.
      await this.#options.onPoll?.().catch(this.#options.onError)
      const startedAt = steadySeconds()
      try {
        await this.#startDueLanes()
      } catch (error) {
        this.#options.onError(error)
        await this.#sleep(ERROR_PAUSE_SECONDS)
        continue
      }
      // However many lanes there are and however often it is woken, it looks half of the time.
      await delay((steadySeconds() - startedAt) * 1_000)
      await this.#sleep(this.#options.limits.pollSeconds)
    }
    await Promise.all(this.#runs)
  }

  async #startDueLanes(): Promise<void> {
    const lanesMax = this.#options.limits.requestsMax - this.#runs.size
    if (lanesMax <= 0 || this.#isStopped) return
    const { database, now } = this.#context
    const busy = [...this.#inFlight.keys()].filter(id => this.#freeRequests(id) <= 0)
    const leaveOut = [...this.#quiet.quietAt(steadySeconds()), ...busy]
    for (const lane of await findDueLanes(database, { now: now(), lanesMax, leaveOut })) {
      if (this.#isStopped) return
      if (this.#mayStart(lane)) this.#start(lane)
    }
  }

  /** Asked again after the look: an answer may have come in meanwhile. */
  #mayStart({ destinationId, isProbe }: Lane): boolean {
    if (this.#quiet.isQuiet(destinationId, steadySeconds())) return false
    if (isProbe && this.#inFlight.has(destinationId)) return false
    return this.#freeRequests(destinationId) > 0
  }

  #freeRequests(destinationId: string): number {
    const requestsMax = this.#quiet.isOnTrial(destinationId)
      ? 1
      : this.#options.limits.laneRequestsMax
    return requestsMax - (this.#inFlight.get(destinationId) ?? 0)
  }

  #start(lane: Lane): void {
    const { destinationId } = lane
    this.#inFlight.set(destinationId, (this.#inFlight.get(destinationId) ?? 0) + 1)
    const run = this.#deliver(lane).finally(() => {
      if (this.#runs.size >= this.#options.limits.requestsMax) this.wake()
      const left = (this.#inFlight.get(destinationId) ?? 1) - 1
      if (left > 0) this.#inFlight.set(destinationId, left)
      else this.#inFlight.delete(destinationId)
      this.#runs.delete(run)
    })
    this.#runs.add(run)
  }

  async #deliver(lane: Lane): Promise<void> {
    try {
      const wakeWhenFull = (isFull: boolean) => {
        if (isFull) this.wake()
      }
      const run = await deliverLane(this.#context, lane, wakeWhenFull)
      this.#heed(lane.destinationId, run)
      // What came in meanwhile, or waits in the other test mode, should not wait for a poll.
      if (run.claimedCount > 0) this.wake()
    } catch (error) {
      this.#options.onError(error)
      this.#quiet.keepQuiet(lane.destinationId, ERROR_PAUSE_SECONDS, steadySeconds())
    }
  }

  /** Leaves the lane alone as long as its last answer asks for. */
  #heed(destinationId: string, { verdict }: LaneRun): void {
    switch (verdict.kind) {
      case 'works':
        this.#quiet.works(destinationId)
        break
      case 'unreachable':
        this.#quiet.failed(destinationId, steadySeconds())
        break
      case 'throttled':
        break
      case 'refused':
      case 'untried':
        return
    }
    if (verdict.waitSeconds > 0) {
      this.#quiet.keepQuiet(destinationId, verdict.waitSeconds, steadySeconds())
    }
  }

  async #sleep(seconds: number): Promise<void> {
    const { signal } = this.#alarm
    await delay(seconds * 1_000, undefined, { signal }).catch(() => {})
  }
}
