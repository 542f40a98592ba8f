import { randomUUID } from 'node:crypto'
import type { Database } from '../db/database.ts'
import { isStoreUnavailable } from '../db/database-errors.ts'
import type { StoreNodes } from '../db/store-nodes.ts'
import type { ServiceLogger } from '../http/service-app.ts'
import { singleFlight } from '../util/single-flight.ts'
import { probeCommit } from './commit-probe-store.ts'

export interface CommitHealthOptions {
  /** A commit that keeps nothing. Throws when it cannot be made. */
  probe: () => Promise<void>
  /** Seconds of a clock that only goes forward. */
  monotonicSeconds: () => number
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
  /** One for each node of the store. */
  readonly #streaks: CommitFailureStreak[] = []
  #probedAt = Number.NEGATIVE_INFINITY

  constructor(options: CommitHealthOptions) {
    this.#options = options
    this.#probe = singleFlight(options.probe)
  }

  /** Commits that the store refused since the last one that it took: those of the worst node. */
  get consecutiveFailures(): number {
    return Math.max(0, ...this.#streaks.map(({ failures }) => failures))
  }

  /** The same commits, each counted. To be called once for each node of the store. */
  trackCommits<Items, Outcome>(
    commit: (items: Items) => Promise<Outcome>,
  ): (items: Items) => Promise<Outcome> {
    const streak = { failures: 0 }
    this.#streaks.push(streak)
    return async items => {
      try {
        const outcome = await commit(items)
        this.#endStreaks([streak])
        return outcome
      } catch (error) {
        this.#failed(streak, error)
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
    const now = this.#options.monotonicSeconds()
    if (now - this.#probedAt < PROBE_SECONDS) throw new Error('commits fail')
    this.#probedAt = now
    await this.#probe()
    this.#endStreaks(this.#streaks)
  }

  /** A process serves the trackers of every node that works. */
  get #isReady(): boolean {
    return this.#streaks.length === 0 || this.#streaks.some(isBelowThreshold)
  }

  #endStreaks(streaks: readonly CommitFailureStreak[]): void {
    const wasReady = this.#isReady
    for (const streak of streaks) streak.failures = 0
    if (!wasReady) this.#options.onReady()
  }

  #failed(streak: CommitFailureStreak, error: unknown): void {
    if (!isStoreUnavailable(error)) {
      this.failures.event += 1
      return
    }
    this.failures.store += 1
    const wasReady = this.#isReady
    streak.failures += 1
    if (streak.failures === 1) this.#options.onFailed(error)
    if (wasReady && !this.#isReady) this.#options.onUnready(error)
  }
}

/** Commits of one node that failed since the last that worked. */
interface CommitFailureStreak {
  failures: number
}

function isBelowThreshold({ failures }: CommitFailureStreak): boolean {
  return failures < UNREADY_FAILURES_MIN
}

export interface CommitHealthContext {
  nodes: StoreNodes
  logger: ServiceLogger
  now: () => Date
  monotonicSeconds: () => number
}

/** Whether commits to this store work; the log hears of the beginning and the end of a trouble. */
export function createCommitHealth({
  nodes,
  logger,
  now,
  monotonicSeconds: steadySeconds,
}: CommitHealthContext) {
  return new CommitHealth({
    probe: () => probeNodes(nodes, now()),
    monotonicSeconds: steadySeconds,
    onFailed: err => logger.warn({ err }, 'the store refused a commit'),
    onUnready: err => logger.error({ err }, 'no commit works; /readyz answers 503 until one does'),
    onReady: () => logger.info('commits work again'),
  })
}

/** Throws when no node takes a commit. */
async function probeNodes(nodes: StoreNodes, at: Date): Promise<void> {
  if (!nodes.isCluster) return probeCommit(await nodes.findNode(randomUUID()), at)
  await Promise.any(
    nodes.all().map(async node => probeCommit(node, at, await generateTrackerIdOn(nodes, node))),
  )
}

/** A node that has a sixteenth of the shards is missed once in 60 probes. */
const TRACKER_ID_TRIES_MAX = 64

/** An id that no tracker has, and that this node would own. */
async function generateTrackerIdOn(nodes: StoreNodes, node: Database): Promise<string> {
  for (let tries = 0; tries < TRACKER_ID_TRIES_MAX; tries += 1) {
    const id = randomUUID()
    if ((await nodes.findNode(id)) === node) return id
  }
  throw new Error('the node owns hardly any trackers')
}
