import { setTimeout as delay } from 'node:timers/promises'
import { monotonicSeconds } from '../../runtime/util/time.ts'
import { CircuitBreakers, type CircuitChange, type CircuitCounts } from './circuit-breaker.ts'
import { deliverDueBatch } from './deliver-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { applyHealth } from './destination-health.ts'
import { type DestinationQueue, DueQueueSearch } from './destination-queue-store.ts'

export interface WorkerLimits {
  /** Requests in flight from this process. */
  requestsMax: number
  /** Requests in flight to one destination, so that no destination takes them all. */
  destinationRequestsMax: number
  pollSeconds: number
}

export interface DeliveryWorker {
  /**
   * Something may be due: poll now instead of waiting for the next poll. A destination with a new
   * credential or target is tried at once: what it waits for was asked of the one before.
   */
  wake(changedDestinationId?: string): void
  /** How many destinations this worker backs off from or tries with single requests. */
  countCircuits(): CircuitCounts
  /** Requests in flight, including their claims and settlements. */
  requestsInFlight(): number
  /** Claims nothing more, and resolves when the requests in flight are answered and settled. */
  stop(): Promise<void>
}

export interface WorkerOptions {
  context: DeliveryContext
  limits: WorkerLimits
  /** The database is unavailable, or there is a bug. The worker goes on. */
  onError: (error: unknown) => void
  /** Called before each poll, for work that is retried now and then. */
  onPoll?: () => Promise<void>
  /** A circuit opened, or closed because a request reached the platform. */
  onCircuitChanged?: (change: CircuitChange) => void
  /** Called after each poll, with its duration. */
  onQueuesChecked?: (seconds: number) => void
}

const ERROR_PAUSE_SECONDS = 1

/**
 * Searches begin this far apart, unless more is known to be due. Events that arrive meanwhile share
 * one request: at 300 events/s, requests of three events each took 5 ms of CPU time for an event
 * (docs/decisions/0040). An event that arrives after a quiet moment is sent immediately.
 */
const COLLECT_SECONDS = 0.1

/**
 * Destinations that failed last time get one in this many requests, and at least one. A request to
 * an unreachable platform lasts until its timeout, so a hundred of them would take all requests.
 */
const REQUESTS_PER_TRIAL = 4

/** Starts the loop that delivers what is due, queue by queue. */
export function startDeliveryWorker(options: WorkerOptions): DeliveryWorker {
  const loop = new WorkerLoop(options)
  // The caller gets its handle first: `onPoll` may need it.
  const finished = Promise.resolve().then(() => loop.run())
  return {
    wake: changedDestinationId => loop.wake(changedDestinationId),
    countCircuits: () => loop.countCircuits(),
    requestsInFlight: () => loop.requestsInFlight(),
    stop: async () => {
      loop.stop()
      await finished
    },
  }
}

class WorkerLoop {
  readonly #options: WorkerOptions
  readonly #context: DeliveryContext
  readonly #search: DueQueueSearch
  /** Requests in flight by destination. */
  readonly #inFlight = new Map<string, number>()
  readonly #circuits = new CircuitBreakers()
  readonly #runs = new Set<Promise<void>>()
  /** Ends the wait for the next poll. */
  #sleepController = new AbortController()
  /** Ends the time in which events are collected. */
  #collectController = new AbortController()
  #isStopped = false

  constructor(options: WorkerOptions) {
    this.#options = options
    const { context, onError } = options
    this.#context = { ...context, isStopping: () => this.#isStopped }
    this.#search = new DueQueueSearch({ database: context.database, nodes: context.nodes, onError })
  }

  wake(changedDestinationId = ''): void {
    this.#circuits.forget(changedDestinationId)
    this.#sleepController.abort()
  }

  stop(): void {
    this.#isStopped = true
    this.#continueAtOnce()
  }

  /** More is probably due, so there is nothing to wait for. */
  #continueAtOnce(): void {
    this.#sleepController.abort()
    this.#collectController.abort()
  }

  countCircuits(): CircuitCounts {
    return this.#circuits.countStates(monotonicSeconds())
  }

  requestsInFlight(): number {
    return this.#runs.size
  }

  async run(): Promise<void> {
    while (!this.#isStopped) {
      this.#sleepController = new AbortController()
      this.#collectController = new AbortController()
      // A failure of this work must not stop deliveries.
      await this.#options.onPoll?.().catch(this.#options.onError)
      const startedAt = monotonicSeconds()
      try {
        await this.#startDueQueues()
      } catch (error) {
        this.#options.onError(error)
        await sleep(ERROR_PAUSE_SECONDS, this.#sleepController)
        continue
      }
      const searchSeconds = monotonicSeconds() - startedAt
      this.#options.onQueuesChecked?.(searchSeconds)
      // Searching takes at most half of the time, however many queues and wake-ups there are.
      await delay(searchSeconds * 1_000)
      await sleep(this.#options.limits.pollSeconds, this.#sleepController)
      const collectedSeconds = monotonicSeconds() - startedAt
      await sleep(COLLECT_SECONDS - collectedSeconds, this.#collectController)
    }
    await Promise.all(this.#runs)
  }

  async #startDueQueues(): Promise<void> {
    const freeRequests = this.#options.limits.requestsMax - this.#runs.size
    if (freeRequests <= 0 || this.#isStopped) return
    const atSeconds = monotonicSeconds()
    const busyIds = [...this.#inFlight.keys()].filter(id => this.#countFreeRequests(id) <= 0)
    const excludedDestinationIds = [...this.#circuits.listBackingOff(atSeconds), ...busyIds]
    const onTrialIds = this.#circuits.listOnTrial(atSeconds)
    const hasFreeTrial = this.#countFreeTrials() > 0
    if (!hasFreeTrial) excludedDestinationIds.push(...onTrialIds)
    // The destinations on trial come on top, so that they take no places from the others.
    const queuesMax = freeRequests + (hasFreeTrial ? onTrialIds.length : 0)
    const now = this.#context.now()
    for (const queue of await this.#search.find({ now, queuesMax, excludedDestinationIds })) {
      if (this.#isStopped || this.#runs.size >= this.#options.limits.requestsMax) return
      if (this.#canStart(queue)) this.#start(queue)
    }
  }

  /** Checked again after the search, during which an answer may have arrived. */
  #canStart({ destinationId, isProbe }: DestinationQueue): boolean {
    if (this.#circuits.isBackingOff(destinationId, monotonicSeconds())) return false
    if (isProbe && this.#inFlight.has(destinationId)) return false
    if (this.#circuits.isOnTrial(destinationId) && this.#countFreeTrials() <= 0) return false
    return this.#countFreeRequests(destinationId) > 0
  }

  #countFreeRequests(destinationId: string): number {
    const requestsMax = this.#circuits.isOnTrial(destinationId)
      ? 1
      : this.#options.limits.destinationRequestsMax
    return requestsMax - (this.#inFlight.get(destinationId) ?? 0)
  }

  #countFreeTrials(): number {
    const trialsMax = Math.max(1, Math.floor(this.#options.limits.requestsMax / REQUESTS_PER_TRIAL))
    let trials = 0
    for (const [id, requests] of this.#inFlight) {
      if (this.#circuits.isOnTrial(id)) trials += requests
    }
    return trialsMax - trials
  }

  #start(queue: DestinationQueue): void {
    const { destinationId } = queue
    this.#inFlight.set(destinationId, (this.#inFlight.get(destinationId) ?? 0) + 1)
    const run = this.#deliver(queue).finally(() => {
      const isFull = this.#runs.size >= this.#options.limits.requestsMax
      if (isFull || this.#countFreeTrials() <= 0) this.#continueAtOnce()
      const remaining = (this.#inFlight.get(destinationId) ?? 1) - 1
      if (remaining > 0) this.#inFlight.set(destinationId, remaining)
      else this.#inFlight.delete(destinationId)
      this.#runs.delete(run)
    })
    this.#runs.add(run)
  }

  async #deliver(queue: DestinationQueue): Promise<void> {
    try {
      const wakeWhenFull = (isFull: boolean) => {
        if (isFull) this.#continueAtOnce()
      }
      const isTrial = this.#circuits.isOnTrial(queue.destinationId)
      const run = await deliverDueBatch(this.#context, { ...queue, isTrial }, wakeWhenFull)
      const { onCircuitChanged } = this.#options
      const finished = { queue, run, monotonicSeconds, onCircuitChanged }
      await applyHealth(this.#context, this.#circuits, finished)
      // New deliveries, and those of the other test mode, should not wait for a poll.
      if (run.claimedCount > 0) this.wake()
    } catch (error) {
      this.#options.onError(error)
      this.#circuits.backOff(queue.destinationId, ERROR_PAUSE_SECONDS, monotonicSeconds())
    }
  }
}

async function sleep(seconds: number, { signal }: AbortController): Promise<void> {
  if (seconds > 0) await delay(seconds * 1_000, undefined, { signal }).catch(() => {})
}
