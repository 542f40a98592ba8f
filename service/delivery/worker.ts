import { setTimeout as delay } from 'node:timers/promises'
import { monotonicSeconds } from '../util/monotonic-clock.ts'
import { CircuitBreakers, type CircuitChange, type CircuitCounts } from './circuit-breaker.ts'
import { type DeliveryRun, deliverDueBatch } from './deliver-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { type DestinationQueue, DueQueueSearch } from './destination-queue-store.ts'
import { bringForwardRetries } from './skip-store.ts'

export interface WorkerLimits {
  /** Requests in flight from this process. */
  requestsMax: number
  /** Requests in flight to one lane, so that no lane takes them all. */
  destinationRequestsMax: number
  pollSeconds: number
}

export interface DeliveryWorker {
  /** Something may be due: look now instead of at the next poll. */
  wake(): void
  /** How many lanes this worker leaves alone or tries with care. */
  countCircuits(): CircuitCounts
  /** Requests under way, with what is claimed for them and settled after them. */
  requestsInFlight(): number
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
  /** A circuit opened, or closed because a request got through. */
  onCircuitChanged?: (change: CircuitChange) => void
  /** Called after every look, with how long it took. */
  onQueuesChecked?: (seconds: number) => void
}

const ERROR_PAUSE_SECONDS = 1

/**
 * Lanes that failed last time get one of so many requests, and at least one. A request to a dead
 * platform lasts until its timeout, so a hundred of them would take every request there is.
 */
const REQUESTS_PER_TRIAL = 4

/** Starts the loop that delivers whatever is due, lane by lane. */
export function startDeliveryWorker(options: WorkerOptions): DeliveryWorker {
  const loop = new WorkerLoop(options)
  // The caller gets its handle first: what `onPoll` does may need it.
  const finished = Promise.resolve().then(() => loop.run())
  return {
    wake: () => loop.wake(),
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
  readonly #quiet = new CircuitBreakers()
  readonly #runs = new Set<Promise<void>>()
  #alarm = new AbortController()
  #isStopped = false

  constructor(options: WorkerOptions) {
    this.#options = options
    const { context, onError } = options
    this.#context = { ...context, isStopping: () => this.#isStopped }
    this.#search = new DueQueueSearch({ database: context.database, nodes: context.nodes, onError })
  }

  wake(): void {
    this.#alarm.abort()
  }

  stop(): void {
    this.#isStopped = true
    this.wake()
  }

  countCircuits(): CircuitCounts {
    return this.#quiet.countStates(monotonicSeconds())
  }

  requestsInFlight(): number {
    return this.#runs.size
  }

  async run(): Promise<void> {
    while (!this.#isStopped) {
      this.#alarm = new AbortController()
      // What is done now and then must not keep deliveries from going out when it fails.
      await this.#options.onPoll?.().catch(this.#options.onError)
      const startedAt = monotonicSeconds()
      try {
        await this.#startDueLanes()
      } catch (error) {
        this.#options.onError(error)
        await this.#sleep(ERROR_PAUSE_SECONDS)
        continue
      }
      const lookSeconds = monotonicSeconds() - startedAt
      this.#options.onQueuesChecked?.(lookSeconds)
      // However many lanes there are and however often it is woken, it looks half of the time.
      await delay(lookSeconds * 1_000)
      await this.#sleep(this.#options.limits.pollSeconds)
    }
    await Promise.all(this.#runs)
  }

  async #startDueLanes(): Promise<void> {
    const free = this.#options.limits.requestsMax - this.#runs.size
    if (free <= 0 || this.#isStopped) return
    const { now } = this.#context
    const at = monotonicSeconds()
    const busy = [...this.#inFlight.keys()].filter(id => this.#freeRequests(id) <= 0)
    const leaveOut = [...this.#quiet.listBackingOff(at), ...busy]
    const onTrial = this.#quiet.listOnTrial(at)
    const mayTry = this.#freeTrials() > 0
    if (!mayTry) leaveOut.push(...onTrial)
    // Room for all that are on trial, so that however many are due, they crowd nobody out.
    const lanesMax = free + (mayTry ? onTrial.length : 0)
    for (const lane of await this.#search.find({
      now: now(),
      queuesMax: lanesMax,
      excludedDestinationIds: leaveOut,
    })) {
      if (this.#isStopped || this.#runs.size >= this.#options.limits.requestsMax) return
      if (this.#mayStart(lane)) this.#start(lane)
    }
  }

  /** Asked again after the look: an answer may have come in meanwhile. */
  #mayStart({ destinationId, isProbe }: DestinationQueue): boolean {
    if (this.#quiet.isBackingOff(destinationId, monotonicSeconds())) return false
    if (isProbe && this.#inFlight.has(destinationId)) return false
    if (this.#quiet.isOnTrial(destinationId) && this.#freeTrials() <= 0) return false
    return this.#freeRequests(destinationId) > 0
  }

  #freeRequests(destinationId: string): number {
    const requestsMax = this.#quiet.isOnTrial(destinationId)
      ? 1
      : this.#options.limits.destinationRequestsMax
    return requestsMax - (this.#inFlight.get(destinationId) ?? 0)
  }

  #freeTrials(): number {
    const trialsMax = Math.max(1, Math.floor(this.#options.limits.requestsMax / REQUESTS_PER_TRIAL))
    let trials = 0
    for (const [id, requests] of this.#inFlight) if (this.#quiet.isOnTrial(id)) trials += requests
    return trialsMax - trials
  }

  #start(lane: DestinationQueue): void {
    const { destinationId } = lane
    this.#inFlight.set(destinationId, (this.#inFlight.get(destinationId) ?? 0) + 1)
    const run = this.#deliver(lane).finally(() => {
      const isFull = this.#runs.size >= this.#options.limits.requestsMax
      if (isFull || this.#freeTrials() <= 0) this.wake()
      const left = (this.#inFlight.get(destinationId) ?? 1) - 1
      if (left > 0) this.#inFlight.set(destinationId, left)
      else this.#inFlight.delete(destinationId)
      this.#runs.delete(run)
    })
    this.#runs.add(run)
  }

  async #deliver(lane: DestinationQueue): Promise<void> {
    try {
      const wakeWhenFull = (isFull: boolean) => {
        if (isFull) this.wake()
      }
      const isTrial = this.#quiet.isOnTrial(lane.destinationId)
      const run = await deliverDueBatch(this.#context, { ...lane, isTrial }, wakeWhenFull)
      await this.#heed(lane, run)
      // What came in meanwhile, or waits in the other test mode, should not wait for a poll.
      if (run.claimedCount > 0) this.wake()
    } catch (error) {
      this.#options.onError(error)
      this.#quiet.backOff(lane.destinationId, ERROR_PAUSE_SECONDS, monotonicSeconds())
    }
  }

  /** Leaves the lane alone as long as its last answer asks for. */
  async #heed(
    { trackerId, destinationId }: DestinationQueue,
    { health: verdict }: DeliveryRun,
  ): Promise<void> {
    const hadOpened = this.#quiet.hasOpened(destinationId)
    const tell = (state: CircuitChange['state']) =>
      this.#options.onCircuitChanged?.({ trackerId, destinationId, state })
    switch (verdict.kind) {
      case 'works':
        if (this.#quiet.recordSuccess(destinationId, monotonicSeconds())) {
          if (hadOpened) tell('closed')
          const { database, now } = this.#context
          await bringForwardRetries(database, { trackerId, destinationId, at: now() })
        }
        break
      case 'unreachable':
        this.#quiet.recordFailure(destinationId, monotonicSeconds())
        if (!hadOpened && this.#quiet.hasOpened(destinationId)) tell('open')
        break
      case 'throttled':
        break
      case 'refused':
      case 'unreadable':
      case 'untried':
        return
    }
    if (verdict.waitSeconds > 0) {
      this.#quiet.backOff(destinationId, verdict.waitSeconds, monotonicSeconds())
    }
  }

  async #sleep(seconds: number): Promise<void> {
    const { signal } = this.#alarm
    await delay(seconds * 1_000, undefined, { signal }).catch(() => {})
  }
}
