import type { Database } from '../db/database.ts'
import { isStoreUnavailable } from '../db/store-availability.ts'
import { oneAtATime } from '../http/one-at-a-time.ts'
import type { ServiceLogger } from '../http/service-app.ts'
import { probeCommit } from './commit-probe-store.ts'

export interface CommitHealthOptions {
  /** A commit that keeps nothing. Throws when it cannot be made. */
  probe: () => Promise<void>
  /** Seconds of a clock that only goes forward. */
  steadySeconds: () => number
  /** The store refused a commit after one that it took. */
  onFailed: (error: unknown) => void
  /** So many were refused in a row that the process is not ready any more. */
  onUnready: (error: unknown) => void
  /** Commits work again. */
  onReady: () => void
}

/** How many commits failed since the start, by whose fault it was. */
export interface CommitFailures {
  store: number
  /** The statement was refused for an event in it; the others were committed without it. */
  event: number
}

/** One broken connection makes no process unready. */
const UNREADY_FAILURES_MIN = 3
/** A process that is not ready gets no traffic, so that nothing else would show that it could. */
const PROBE_SECONDS = 2

/**
 * Whether commits work: a store whose disk is full answers every question, so asking it something
 * says nothing. It is counted what the store refuses; what is refused for an event in it is not,
 * since a caller must not be able to take the service from the others.
 */
export class CommitHealth {
  readonly failures: CommitFailures = { store: 0, event: 0 }
  readonly #options: CommitHealthOptions
  readonly #probe: () => Promise<void>
  #failuresInRow = 0
  #probedAt = Number.NEGATIVE_INFINITY

  constructor(options: CommitHealthOptions) {
    this.#options = options
    this.#probe = oneAtATime(options.probe)
  }

  /** Commits that the store refused since the last one that it took. */
  get failuresInRow(): number {
    return this.#failuresInRow
  }

  /** The same commits, each counted. */
  watch<Items, Outcome>(
    commit: (items: Items) => Promise<Outcome>,
  ): (items: Items) => Promise<Outcome> {
    return async items => {
      try {
        const outcome = await commit(items)
        this.#succeeded()
        return outcome
      } catch (error) {
        this.#failed(error)
        throw error
      }
    }
  }

  /**
   * For `/readyz`: throws while commits fail. Then it tries one that keeps nothing, every other
   * second at most, and is content as soon as that works.
   */
  async check(): Promise<void> {
    if (this.#isReady) return
    const now = this.#options.steadySeconds()
    if (now - this.#probedAt < PROBE_SECONDS) throw new Error('commits fail')
    this.#probedAt = now
    await this.#probe()
    this.#succeeded()
  }

  get #isReady(): boolean {
    return this.#failuresInRow < UNREADY_FAILURES_MIN
  }

  #succeeded(): void {
    if (this.#failuresInRow === 0) return
    const wasReady = this.#isReady
    this.#failuresInRow = 0
    if (!wasReady) this.#options.onReady()
  }

  #failed(error: unknown): void {
    if (!isStoreUnavailable(error)) {
      this.failures.event += 1
      return
    }
    this.failures.store += 1
    this.#failuresInRow += 1
    if (this.#failuresInRow === 1) this.#options.onFailed(error)
    if (this.#failuresInRow === UNREADY_FAILURES_MIN) this.#options.onUnready(error)
  }
}

export interface CommitStore {
  database: Database
  logger: ServiceLogger
  now: () => Date
  steadySeconds: () => number
}

/** Whether commits to this store work; the log hears of the beginning and the end of a trouble. */
export function healthOfCommits({ database, logger, now, steadySeconds }: CommitStore) {
  return new CommitHealth({
    probe: () => probeCommit(database, now()),
    steadySeconds,
    onFailed: err => logger.warn({ err }, 'the store refused a commit'),
    onUnready: err => logger.error({ err }, 'no commit works; /readyz answers 503 until one does'),
    onReady: () => logger.info('commits work again'),
  })
}
