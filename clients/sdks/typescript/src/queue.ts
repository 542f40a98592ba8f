import type { EventSubmission } from './contract.generated.ts'
import { InvalidArgumentError, QueueClosedError, QueueFullError } from './errors.ts'
import { type CreatedEvent, type PreparedEvent, prepareEvent } from './event-submission.ts'
import { createDeferred, type Result, sleep } from './request.ts'
import type { CallOptions } from './settings.ts'

/** What became known of one event of a queue. */
export type Outcome =
  | { event_id: string; status: 'accepted' | 'duplicate'; result: Result<CreatedEvent> }
  | { event_id: string; status: 'failed'; error: unknown }

export interface QueueOptions {
  /** How many events may wait or be in flight; 1,000 by default. */
  capacity?: number | undefined
  /** How many requests are made at the same time; 8 by default. */
  concurrency?: number | undefined
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

type SendEvent = (event: PreparedEvent, options: CallOptions) => Promise<Result<CreatedEvent>>

/**
 * Sends events in the background. It is in memory only: what is in it is lost with the process, so
 * `flush` it before a function returns and `close` it before the process ends.
 */
export class EventQueue {
  readonly #send: SendEvent
  readonly #capacity: number
  readonly #concurrency: number
  readonly #onOutcome: QueueOptions['onOutcome']
  readonly #controller = new AbortController()
  readonly #waiting = new Set<Entry>()
  readonly #inFlight = new Map<Entry, Promise<void>>()
  readonly #settled = new Map<Outcome, number>()
  #omitted = 0
  #added = 0
  #closing: Promise<CloseResult> | null = null
  /** Resolved when an event settles, and then replaced. */
  #change = createDeferred()

  constructor(send: SendEvent, { capacity = 1_000, concurrency = 8, onOutcome }: QueueOptions) {
    if (!Number.isInteger(capacity) || capacity < 1) {
      throw new InvalidArgumentError('capacity must be a whole number from 1.')
    }
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new InvalidArgumentError('concurrency must be a whole number from 1.')
    }
    this.#send = send
    this.#capacity = capacity
    this.#concurrency = concurrency
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
    this.#waiting.add({ ...prepared, sequence: this.#added })
    this.#start()
    return prepared.id
  }

  /** Waits for every event that was added before, in flight or not, and returns the outcomes. */
  async flush(): Promise<FlushResult> {
    const last = this.#added
    while (this.#pending().some(({ sequence }) => sequence <= last)) await this.#change.promise
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
    const timer = new AbortController()
    const deadline = timeout === undefined ? null : this.#expire(timeout, timer.signal)
    while (this.size > 0 && !this.#controller.signal.aborted) await this.#change.promise
    timer.abort()
    await deadline
    const left = this.#pending().map(({ id }) => id)
    this.#waiting.clear()
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

  #pending(): Entry[] {
    const entries = [...this.#waiting, ...this.#inFlight.keys()]
    return entries.sort((one, other) => one.sequence - other.sequence)
  }

  #start(): void {
    for (const entry of this.#waiting) {
      if (this.#inFlight.size >= this.#concurrency || this.#controller.signal.aborted) return
      this.#waiting.delete(entry)
      this.#inFlight.set(entry, this.#run(entry))
    }
  }

  async #run(entry: Entry): Promise<void> {
    const outcome = await this.#sendEntry(entry)
    if (this.#controller.signal.aborted) return
    this.#inFlight.delete(entry)
    this.#settled.set(outcome, entry.sequence)
    const [oldest] = this.#settled.keys()
    if (this.#settled.size > this.#capacity && oldest) {
      this.#settled.delete(oldest)
      this.#omitted += 1
    }
    this.#start()
    this.#notify()
    this.#onOutcome?.(outcome)
  }

  async #sendEntry(entry: Entry): Promise<Outcome> {
    const event_id = entry.id
    try {
      const result = await this.#send(entry, { signal: this.#controller.signal })
      return { event_id, status: result.duplicate === true ? 'duplicate' : 'accepted', result }
    } catch (error) {
      return { event_id, status: 'failed', error }
    }
  }

  #notify(): void {
    this.#change.resolve()
    this.#change = createDeferred()
  }

  /** The settled outcomes up to a sequence number, which no one has taken. */
  #take(last: number): FlushResult {
    const taken = [...this.#settled].filter(([, sequence]) => sequence <= last)
    for (const [outcome] of taken) this.#settled.delete(outcome)
    const outcomes = taken.sort(([, one], [, other]) => one - other).map(([outcome]) => outcome)
    const omitted = this.#omitted
    this.#omitted = 0
    return { outcomes, omitted }
  }
}
