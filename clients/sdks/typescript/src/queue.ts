import type { EventSubmission } from './contract.generated.ts'
import { InvalidArgumentError, QueueClosedError, QueueFullError } from './errors.ts'
import {
  BATCH_EVENTS_MAX,
  countBatch,
  createResultError,
  type Settlement,
  sendBatch,
  toCreated,
} from './event-batch.ts'
import {
  type CreatedEvent,
  type PreparedEvent,
  prepareEvent,
  sendEvent,
} from './event-submission.ts'
import { Fifo } from './fifo.ts'
import { createDeferred, type Result, sleep } from './request.ts'
import type { Settings } from './settings.ts'

/** What became known of one event of a queue. */
export type Outcome =
  | { event_id: string; status: 'accepted' | 'duplicate'; result: Result<CreatedEvent> }
  | { event_id: string; status: 'failed'; error: unknown }

export interface QueueOptions {
  /** How many events may wait or be in flight; 1,000 by default. */
  capacity?: number | undefined
  /** How many requests are made at the same time; 8 by default. */
  concurrency?: number | undefined
  /** How many events a request has at most; 100 by default, at most 200, 1 for single events. */
  batchSize?: number | undefined
  /** Called with each outcome when it is known. It must not throw. */
  onOutcome?: ((outcome: Outcome) => void) | undefined
}

export interface FlushResult {
  /** In the order of adding; each outcome is returned once. */
  outcomes: Outcome[]
  /** Older outcomes that were not kept: the queue keeps as many as its capacity. */
  omitted: number
}

export interface CloseResult extends FlushResult {
  /** Ids of events whose outcome is not known. They may have been accepted: send them again. */
  left: string[]
}

interface Entry extends PreparedEvent {
  sequence: number
}

/** How long an event waits at most for others to be sent with. */
const WAIT_MILLISECONDS = 50

/**
 * Sends events in the background: in batches that are full, or 50 milliseconds after the first
 * event of one. It is in memory only: what is in it is lost with the process, so `flush` it before
 * a function returns and `close` it before the process ends.
 */
export class EventQueue {
  readonly #settings: Settings
  readonly #capacity: number
  readonly #concurrency: number
  readonly #batchSize: number
  readonly #onOutcome: QueueOptions['onOutcome']
  readonly #controller = new AbortController()
  /** In the order of adding, as those in flight are when they start. */
  #waiting = new Fifo<Entry>()
  readonly #inFlight = new Map<number, Entry>()
  #settled = new Fifo<{ outcome: Outcome; sequence: number }>()
  /** What a proxy refused together, by sequence number. */
  readonly #alone = new Set<number>()
  #requests = 0
  #omitted = 0
  #added = 0
  /** Events up to this sequence number wait for no others. */
  #due = 0
  #timer: ReturnType<typeof setTimeout> | null = null
  #closing: Promise<CloseResult> | null = null
  /** Resolved when events settle, and then replaced. */
  #change = createDeferred()

  constructor(settings: Settings, options: QueueOptions) {
    const { capacity = 1_000, concurrency = 8, batchSize = 100, onOutcome } = options
    for (const [name, count] of Object.entries({ capacity, concurrency, batchSize })) {
      if (Number.isInteger(count) && count >= 1) continue
      throw new InvalidArgumentError(`${name} must be a whole number from 1.`)
    }
    if (batchSize > BATCH_EVENTS_MAX) {
      throw new InvalidArgumentError(`batchSize must be at most ${BATCH_EVENTS_MAX}.`)
    }
    this.#settings = settings
    this.#capacity = capacity
    this.#concurrency = concurrency
    this.#batchSize = Math.min(batchSize, capacity)
    this.#onOutcome = onOutcome
  }

  /** How many events wait or are in flight. */
  get size(): number {
    return this.#waiting.size + this.#inFlight.size
  }

  /** Adds an event and returns its id. Throws a QueueFullError or a QueueClosedError. */
  add(event: EventSubmission): string {
    if (this.#closing !== null) throw new QueueClosedError()
    const prepared = prepareEvent(event)
    if (this.size >= this.#capacity) throw new QueueFullError(this.#capacity)
    this.#added += 1
    this.#waiting.push({ ...prepared, sequence: this.#added })
    this.#start()
    return prepared.id
  }

  /** Waits for every event that was added before, in flight or not, and returns the outcomes. */
  async flush(): Promise<FlushResult> {
    const last = this.#added
    this.#sendNow()
    while (this.#firstPending() <= last) await this.#change.promise
    return this.#take(last)
  }

  /**
   * Refuses new events and waits for those in the queue, at most `timeout` milliseconds. Then it
   * ends the requests in flight and names in `left` what has no outcome. A second call returns what
   * the first did.
   */
  close({ timeout }: { timeout?: number | undefined } = {}): Promise<CloseResult> {
    this.#closing ??= this.#close(timeout)
    return this.#closing
  }

  async #close(timeout: number | undefined): Promise<CloseResult> {
    this.#sendNow()
    const timer = new AbortController()
    const deadline = timeout === undefined ? null : this.#expire(timeout, timer.signal)
    while (this.size > 0 && !this.#controller.signal.aborted) await this.#change.promise
    timer.abort()
    await deadline
    const pending = [...this.#inFlight.values(), ...this.#waiting]
    const left = pending.sort((one, other) => one.sequence - other.sequence).map(({ id }) => id)
    this.#waiting = new Fifo()
    this.#inFlight.clear()
    return { ...this.#take(this.#added), left }
  }

  async #expire(timeout: number, signal: AbortSignal): Promise<void> {
    try {
      if (timeout > 0) await sleep(timeout, signal)
    } catch {
      return
    }
    this.#controller.abort()
    this.#notify()
  }

  #firstPending(): number {
    let first = this.#firstWaiting
    for (const sequence of this.#inFlight.keys()) first = Math.min(first, sequence)
    return first
  }

  /** Infinity when no event waits. */
  get #firstWaiting(): number {
    return this.#waiting.first?.sequence ?? Number.POSITIVE_INFINITY
  }

  #sendNow(): void {
    this.#due = this.#added
    this.#start()
  }

  /** Starts what is due while requests may start, and waits for what is not. */
  #start(): void {
    while (this.#requests < this.#concurrency && !this.#controller.signal.aborted) {
      const size = this.#settings.hasBatches ? this.#batchSize : 1
      if (this.#waiting.size < size && this.#firstWaiting > this.#due) break
      const entries = this.#takeEntries(size)
      if (entries.length === 0) break
      void this.#run(entries)
    }
    const isWaiting = this.#firstWaiting > this.#due && this.#waiting.size > 0
    if (isWaiting && !this.#controller.signal.aborted) {
      this.#timer ??= setTimeout(() => this.#stopTimer().#sendNow(), WAIT_MILLISECONDS)
    } else this.#stopTimer()
  }

  #stopTimer(): this {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    return this
  }

  /** The events at the front that fit into a request. An event that needs its own is alone. */
  #takeEntries(size: number): Entry[] {
    const front: Entry[] = []
    for (const entry of this.#waiting) {
      if (front.length === size || this.#alone.has(entry.sequence)) break
      front.push(entry)
    }
    const { first } = this.#waiting
    const count = countBatch(front, size)
    const entries = count > 0 ? front.slice(0, count) : first ? [first] : []
    for (const entry of entries) {
      this.#waiting.shift()
      this.#alone.delete(entry.sequence)
      this.#inFlight.set(entry.sequence, entry)
    }
    return entries
  }

  async #run(entries: readonly Entry[]): Promise<void> {
    this.#requests += 1
    const [first] = entries
    if (entries.length === 1 && first) this.#settle(first, await this.#sendEvent(first))
    else this.#sendAlone(await this.#sendBatch(entries))
    this.#requests -= 1
    if (this.#controller.signal.aborted) return
    this.#start()
    this.#notify()
  }

  async #sendEvent(entry: Entry): Promise<Outcome> {
    const event_id = entry.id
    try {
      const { signal } = this.#controller
      const result = await sendEvent(this.#settings, entry, { signal })
      return { event_id, status: result.duplicate === true ? 'duplicate' : 'accepted', result }
    } catch (error) {
      return { event_id, status: 'failed', error }
    }
  }

  async #sendBatch(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const { signal } = this.#controller
    return sendBatch(this.#settings, entries, {
      options: { signal },
      settle: (entry, settlement) => {
        this.#settle(entry, toOutcome(entry, settlement))
        this.#notify()
      },
    })
  }

  /** Puts events back to the front, each to be sent by itself. */
  #sendAlone(entries: readonly Entry[]): void {
    if (this.#controller.signal.aborted || entries.length === 0) return
    for (const { sequence } of entries) {
      this.#alone.add(sequence)
      this.#inFlight.delete(sequence)
    }
    this.#waiting = new Fifo([...entries, ...this.#waiting])
  }

  #settle(entry: Entry, outcome: Outcome): void {
    if (this.#controller.signal.aborted) return
    this.#inFlight.delete(entry.sequence)
    this.#settled.push({ outcome, sequence: entry.sequence })
    if (this.#settled.size > this.#capacity) {
      this.#settled.shift()
      this.#omitted += 1
    }
    try {
      this.#onOutcome?.(outcome)
    } catch (error) {
      // The other events of the batch have outcomes too. The process hears of it all the same.
      void Promise.reject(error)
    }
  }

  #notify(): void {
    this.#change.resolve()
    this.#change = createDeferred()
  }

  /** The settled outcomes up to a sequence number, which no one has taken. */
  #take(last: number): FlushResult {
    const settled = [...this.#settled]
    const taken = settled.filter(({ sequence }) => sequence <= last)
    this.#settled = new Fifo(settled.filter(({ sequence }) => sequence > last))
    taken.sort((one, other) => one.sequence - other.sequence)
    const outcomes = taken.map(({ outcome }) => outcome)
    const omitted = this.#omitted
    this.#omitted = 0
    return { outcomes, omitted }
  }
}

function toOutcome({ id: event_id }: Entry, settlement: Settlement): Outcome {
  if ('error' in settlement) return { event_id, status: 'failed', error: settlement.error }
  const { status } = settlement.result
  if (status !== 200 && status !== 202) {
    return { event_id, status: 'failed', error: createResultError(settlement) }
  }
  const result = toCreated(settlement)
  return { event_id, status: result.duplicate === true ? 'duplicate' : 'accepted', result }
}
