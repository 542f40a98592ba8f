import { isStoreUnavailable, StoreTimeout } from '../../runtime/db/database-errors.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { findActiveWork, runInSpan, type Span, type Tracer } from '../../runtime/tracing/tracer.ts'
import { rejectAfter } from '../../runtime/util/wait.ts'
import type { CommitOutcome } from './commit-events.ts'
import type { EventDraft } from './event-draft.ts'

export interface GroupCommitOptions<Item, Outcome> {
  /** Commits all items in one transaction. Returns one outcome per item, in the same order. */
  commit: (items: readonly Item[]) => Promise<readonly Outcome[]>
  itemsMax: number
  queueMax: number
  /** Limit of the bytes of all unsettled items, as passed to `submit`. Default: 32 MiB. */
  pendingBytesMax?: number
}

/** A bounded queue of items that are committed in groups. */
export interface CommitQueue<Item, Outcome> {
  /** Items waiting for a commit. */
  readonly queued: number
  /** Items refused because the queue was full, since the start. */
  readonly refusals: number
  /** Resolves when the item is durable. Throws a 503 refusal when the queue is full. */
  submit(item: Item, bytes?: number): Promise<Outcome>
  /** Resolves when every submitted item is settled. */
  drain(): Promise<void>
}

interface PendingItem<Item, Outcome> {
  item: Item
  bytes: number
  /** By the monotonic clock, in milliseconds. */
  submittedAt: number
  resolve: (outcome: Outcome) => void
  reject: (error: unknown) => void
}

const RETRY_SECONDS = 1
const QUEUE_FULL_MESSAGE = 'Too many events are waiting; try again.'

/** 512 bodies of 64 KiB. A commit of 256 such bodies takes at most 160 MB of memory. */
export const PENDING_BYTES_MAX = 33_554_432

/** A request that stores events is answered within five seconds; this is most of them. */
export const ANSWER_MILLISECONDS_MAX = 4_500

/**
 * The time in which a request that stores events is answered. The work goes on when it is over, as
 * the store may be committing it: the caller gets a 503, and its retry is new or a duplicate.
 */
export class AnswerDeadline {
  readonly #endsAt = performance.now() + ANSWER_MILLISECONDS_MAX

  /** Throws a StoreTimeout when the time is over before the work is done, or before it begins. */
  async wait<Result>(work: () => Promise<Result>): Promise<Result> {
    const left = this.#endsAt - performance.now()
    const createError = () => new StoreTimeout('the store did not answer in time')
    if (left <= 0) throw createError()
    return rejectAfter(left, createError, work())
  }
}

export function queueFullRefusal(): Refusal {
  return Refusal.unavailable(QUEUE_FULL_MESSAGE, RETRY_SECONDS, 'queue_full')
}

/**
 * Collects the items that arrive while a commit is in flight and commits them together. One commit
 * is in flight at a time: two or three gave fewer events per second at a worse p99, because each
 * brings fewer rows to the same disk flush (docs/decisions/0005). There is no timer: a single item
 * is committed immediately.
 */
export class GroupCommit<Item, Outcome> implements CommitQueue<Item, Outcome> {
  readonly #options: GroupCommitOptions<Item, Outcome>
  #queue: PendingItem<Item, Outcome>[] = []
  #pendingBytes = 0
  #running: Promise<void> | null = null
  #refusals = 0

  constructor(options: GroupCommitOptions<Item, Outcome>) {
    this.#options = options
  }

  get queued(): number {
    return this.#queue.length
  }

  /** Bytes of unsettled items. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  get refusals(): number {
    return this.#refusals
  }

  /**
   * Resolves when the item is durable. Throws a 503 refusal when the queue is full, by items or by
   * bytes: 10,000 purchases take 12 MB, but 10,000 of the largest bodies would take 640 MB. `bytes`
   * is the size of the request body.
   */
  submit(item: Item, bytes = 0): Promise<Outcome> {
    if (this.#isFull(bytes)) {
      this.#refusals += 1
      throw queueFullRefusal()
    }
    this.#pendingBytes += bytes
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, bytes, submittedAt: performance.now(), resolve, reject })
      this.#running ??= this.#run()
    })
  }

  #isFull(bytes: number): boolean {
    const { queueMax, pendingBytesMax = PENDING_BYTES_MAX } = this.#options
    return this.#queue.length >= queueMax || this.#pendingBytes + bytes > pendingBytesMax
  }

  async drain(): Promise<void> {
    while (this.#running) await this.#running
  }

  async #run(): Promise<void> {
    // Requests read in the same event loop iteration join the first commit.
    await new Promise(setImmediate)
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, this.#options.itemsMax)
      this.#queue = this.#queue.slice(this.#options.itemsMax)
      const current = rejectLate(batch)
      if (current.length > 0) await this.#settle(current)
      for (const { bytes } of batch) this.#pendingBytes -= bytes
    }
    this.#running = null
  }

  async #settle(batch: readonly PendingItem<Item, Outcome>[]): Promise<void> {
    try {
      const outcomes = await this.#options.commit(batch.map(({ item }) => item))
      for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index] as Outcome)
    } catch (error) {
      if (batch.length === 1 || isStoreUnavailable(error)) {
        for (const { reject } of batch) reject(error)
        return
      }
      // One invalid item fails the whole statement: bisect until it is alone.
      const middle = Math.ceil(batch.length / 2)
      await this.#settle(batch.slice(0, middle))
      await this.#settle(batch.slice(middle))
    }
  }
}

/**
 * Rejects the items whose callers have been answered by their deadline, and returns the others: a
 * store that works again has no use for those that waited behind a lock.
 */
function rejectLate<Item, Outcome>(
  batch: readonly PendingItem<Item, Outcome>[],
): PendingItem<Item, Outcome>[] {
  const oldest = performance.now() - ANSWER_MILLISECONDS_MAX
  return batch.filter(({ submittedAt, reject }) => {
    if (submittedAt > oldest) return true
    reject(new StoreTimeout('the event waited too long for its commit'))
    return false
  })
}

type CommitFunction = (drafts: readonly EventDraft[]) => Promise<CommitOutcome[]>

/**
 * Makes spans of commits. Many requests share a commit, so it is a trace of its own with links to
 * them; each request gets a span for its wait. Each new event begins the trace under which it is
 * delivered later, linked with the request and the commit.
 */
export class CommitTracer {
  readonly #tracer: Tracer
  readonly #requests = new WeakMap<EventDraft, Span>()

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  /** Remembers which request submits a draft. */
  traceQueue(
    queue: CommitQueue<EventDraft, CommitOutcome>,
  ): CommitQueue<EventDraft, CommitOutcome> {
    return {
      get queued() {
        return queue.queued
      },
      get refusals() {
        return queue.refusals
      },
      drain: () => queue.drain(),
      submit: (draft, bytes) => {
        const request = findActiveWork()?.span
        if (request === undefined) return queue.submit(draft, bytes)
        this.#requests.set(draft, request)
        const wait = this.#tracer.startSpan('commit event', {
          kind: 'internal',
          parent: request.ref,
          attributes: { 'signalbox.tracker_id': draft.trackerId },
        })
        const outcome = queue.submit(draft, bytes)
        outcome.then(
          ({ isNew }) => wait.end({ 'signalbox.duplicate': !isNew }),
          error => wait.end({}, errorCode(error)),
        )
        return outcome
      },
    }
  }

  traceCommits(commit: CommitFunction): CommitFunction {
    return async drafts => {
      const requests = drafts.flatMap(draft => this.#requests.get(draft)?.ref ?? [])
      const span = this.#tracer.startSpan('commit batch', {
        kind: 'client',
        links: requests,
        attributes: { 'db.system.name': 'postgresql', 'db.operation.batch.size': drafts.length },
      })
      try {
        const outcomes = await runInSpan({ span, trackerId: null }, () => commit(drafts))
        for (const [index, draft] of drafts.entries()) {
          this.#linkEvent(draft, { commit: span, isNew: outcomes[index]?.isNew === true })
        }
        span.end({ 'signalbox.new_events': outcomes.filter(({ isNew }) => isNew).length })
        return outcomes
      } catch (error) {
        span.end({}, errorCode(error))
        throw error
      }
    }
  }

  /** A duplicate has no span of its own; its request leads to the trace of the first one. */
  #linkEvent(draft: EventDraft, { commit, isNew }: { commit: Span; isNew: boolean }): void {
    const request = this.#requests.get(draft)
    request?.link(this.#tracer.eventRef(draft))
    if (!isNew) return
    const links = request ? [request.ref, commit.ref] : [commit.ref]
    const attributes = { 'signalbox.tracker_id': draft.trackerId }
    this.#tracer.startEventSpan(draft, { kind: 'producer', links, attributes }).end()
  }
}

/** PostgreSQL's code or the name of the class; a message could repeat values. */
function errorCode(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(code ?? name ?? 'unknown')
}
