import { randomBytes, randomUUID } from 'node:crypto'
import { type Database, isCitusCluster } from '../../runtime/db/database.ts'
import {
  findStoreFailureCause,
  isLockTimeout,
  isStoreUnavailable,
  StoreTimeout,
} from '../../runtime/db/database-errors.ts'
import { localSettings } from '../../runtime/db/sql-fragments.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import { singleFlight } from '../../runtime/util/load-cache.ts'
import { UNMARKED_IDENTITY } from '../events/column-encoding.ts'
import type { EventRecord } from '../events/event-record.ts'
import { insertEventsInTransaction } from './commit-store.ts'
import { ANSWER_MILLISECONDS_MAX } from './group-commit.ts'

export interface CommitHealthOptions {
  /** Makes a commit that stores nothing. Throws when it fails. */
  probe: () => Promise<void>
  monotonicSeconds: () => number
  /** The first commit fails after one that worked. */
  onFailed: (error: unknown) => void
  /** Enough commits failed in a row to make the process unready. */
  onUnready: (error: unknown) => void
  /** Commits work again. */
  onReady: () => void
}

/** Commits that failed since the start, by cause. */
export interface CommitFailures {
  store: number
  /** The statement failed because of one event. The other events were committed without it. */
  event: number
}

/** A single broken connection does not make the process unready. */
const UNREADY_FAILURES_MIN = 3
/** An unready process gets no traffic, so only a probe can show that commits work again. */
const PROBE_SECONDS = 2

/**
 * Tracks whether commits work. A database whose disk is full still answers queries, so a query
 * proves nothing; failed commits do. Failures caused by one event do not count: otherwise a single
 * caller could make the service unready for the others.
 */
export class CommitHealth {
  readonly failures: CommitFailures = { store: 0, event: 0 }
  readonly #options: CommitHealthOptions
  readonly #probe: () => Promise<void>
  /** One per node. */
  readonly #streaks: CommitFailureStreak[] = []
  #probedAt = Number.NEGATIVE_INFINITY
  #lastError: unknown

  constructor(options: CommitHealthOptions) {
    this.#options = options
    this.#probe = singleFlight(options.probe)
  }

  /** Failed commits since the last one that worked, of the worst node. */
  get consecutiveFailures(): number {
    return Math.max(0, ...this.#streaks.map(({ failures }) => failures))
  }

  /** Wraps `commit` to count its failures. Call it once per node. */
  trackCommits<Items, Outcome>(
    commit: (items: Items) => Promise<Outcome>,
  ): (items: Items) => Promise<Outcome> {
    const streak: CommitFailureStreak = { failures: 0, isLocked: false, startedAt: null }
    this.#streaks.push(streak)
    return async items => {
      streak.startedAt = this.#options.monotonicSeconds()
      try {
        const outcome = await commit(items)
        this.#endStreaks([streak])
        return outcome
      } catch (error) {
        this.#recordFailure(streak, error)
        throw error
      } finally {
        streak.startedAt = null
      }
    }
  }

  /**
   * For `/readyz`: throws while commits fail, or take longer than their callers wait. At most every
   * two seconds, it probes with a commit that stores nothing. Once a probe works, the process is
   * ready again.
   */
  async check(): Promise<void> {
    const now = this.#options.monotonicSeconds()
    if (this.#isReady) {
      if (!this.#isStalled(now)) return
      throw new StoreTimeout('a commit takes longer than its callers wait')
    }
    if (now - this.#probedAt < PROBE_SECONDS) {
      throw new Error('commits are failing', { cause: this.#lastError })
    }
    this.#probedAt = now
    await this.#probe().catch(error => {
      this.#lastError = error
      throw error
    })
    this.#endStreaks(this.#streaks)
  }

  /** One working node is enough: the process still serves its trackers. */
  get #isReady(): boolean {
    return this.#streaks.length === 0 || this.#streaks.some(isBelowThreshold)
  }

  /** No node works, and at least one is still at a commit. */
  #isStalled(now: number): boolean {
    const isSlow = ({ startedAt }: CommitFailureStreak) =>
      startedAt !== null && now - startedAt >= ANSWER_MILLISECONDS_MAX / 1_000
    const isAway = (streak: CommitFailureStreak) => isSlow(streak) || !isBelowThreshold(streak)
    return this.#streaks.length > 0 && this.#streaks.every(isAway)
  }

  #endStreaks(streaks: readonly CommitFailureStreak[]): void {
    const wasReady = this.#isReady
    for (const streak of streaks) {
      streak.failures = 0
      streak.isLocked = false
    }
    if (!wasReady) this.#options.onReady()
  }

  #recordFailure(streak: CommitFailureStreak, error: unknown): void {
    if (!isStoreUnavailable(error)) {
      this.failures.event += 1
      return
    }
    this.failures.store += 1
    this.#lastError = error
    const wasReady = this.#isReady
    streak.failures += 1
    streak.isLocked ||= isLockTimeout(error)
    if (streak.failures === 1) this.#options.onFailed(error)
    if (wasReady && !this.#isReady) this.#options.onUnready(error)
  }
}

/** Failed commits of one node since the last one that worked. */
interface CommitFailureStreak {
  failures: number
  /** One of them waited too long for a lock. The next ones wait as long, so there is no second. */
  isLocked: boolean
  /** When the commit in flight began, by the monotonic clock; null without one. */
  startedAt: number | null
}

function isBelowThreshold({ failures, isLocked }: CommitFailureStreak): boolean {
  return failures < UNREADY_FAILURES_MIN && !isLocked
}

export interface CommitHealthContext {
  nodes: StoreNodes
  logger: ServiceLogger
  now: () => Date
  monotonicSeconds: () => number
}

/** Logs when commits start to fail and when they recover. */
export function createCommitHealth({ nodes, logger, now, monotonicSeconds }: CommitHealthContext) {
  return new CommitHealth({
    probe: () => probeNodes(nodes, now()),
    monotonicSeconds,
    onFailed: err => logger.warn({ err, cause: findStoreFailureCause(err) }, 'a commit failed'),
    onUnready: err =>
      logger.error(
        { err, cause: findStoreFailureCause(err) },
        'commits are failing; /readyz returns 503 until one succeeds',
      ),
    onReady: () => logger.info('commits work again'),
  })
}

/** Throws when commits fail on every node. */
async function probeNodes(nodes: StoreNodes, at: Date): Promise<void> {
  if (!nodes.isCluster) return probeCommit(await nodes.findNode(randomUUID()), at)
  await Promise.any(
    nodes.all().map(async node => probeCommit(node, at, await generateTrackerIdOn(nodes, node))),
  )
}

/** For a node with 1/16 of the shards, one probe in 60 finds no ID. */
const TRACKER_ID_TRIES_MAX = 64

/** A random tracker ID that belongs to a shard of this node. */
async function generateTrackerIdOn(nodes: StoreNodes, node: Database): Promise<string> {
  for (let tries = 0; tries < TRACKER_ID_TRIES_MAX; tries += 1) {
    const id = randomUUID()
    if ((await nodes.findNode(id)) === node) return id
  }
  throw new Error('found no tracker ID that belongs to the node')
}

const PROBE_MILLISECONDS_MAX = 2_000
/** Less, so that the error says what the probe waited for. */
const PROBE_LOCK_MILLISECONDS_MAX = 1_500

/** The size limit of a body: on a full disk, a short row may still fit where events do not. */
const PROBE_BYTES = 65_536

/**
 * Inserts one event of the largest size as ingestion does and rolls it back. Throws when events
 * cannot be stored. The event belongs to no tracker and is never visible.
 */
export async function probeCommit(
  database: Database,
  at: Date,
  trackerId: string = NIL_TRACKER_ID,
): Promise<void> {
  const isCluster = await isCitusCluster(database)
  const client = await database.pool.connect()
  let isBroken = true
  try {
    const settings = localSettings({
      statement_timeout: PROBE_MILLISECONDS_MAX,
      lock_timeout: PROBE_LOCK_MILLISECONDS_MAX,
    })
    await client.query(`begin; ${settings}`)
    const records = [buildProbeRecord(trackerId, at)]
    await insertEventsInTransaction(client, { records, deliveries: [], isCluster })
    isBroken = false
  } finally {
    const rolledBack = await client.query('rollback').catch((error: Error) => error)
    client.release(isBroken || rolledBack instanceof Error)
  }
}

const NIL_TRACKER_ID = '00000000-0000-0000-0000-000000000000'

function buildProbeRecord(trackerId: string, at: Date): EventRecord {
  const pageUrl = randomBytes(PROBE_BYTES / 2).toString('hex')
  return {
    trackerId,
    eventId: randomBytes(16).toString('hex'),
    space: 'secret',
    createdAt: at,
    eventTime: at,
    eventName: 'probe',
    eventClass: 'verification',
    actionSource: 'system_generated',
    consentBasis: 'legitimate_interest',
    measurementClass: 'modeled',
    attributionJoin: 'none',
    enforcementScope: 'ledger',
    consentNormalizationVersion: '1',
    consentCapturedAt: null,
    eventSource: null,
    parentEventId: null,
    orderId: null,
    valueAmount: null,
    valueCurrency: null,
    valueData: null,
    consent: null,
    notes: { dropped: [], unknownMembers: [], redacted: [] },
    bodyDigest: Buffer.alloc(0),
    payload: {
      visitorId: null,
      identityMark: UNMARKED_IDENTITY,
      digests: {},
      plain: {},
      clickIds: {},
      pageUrl,
    },
    session: null,
    withdrawnKeys: [],
    assumedNotWithdrawn: [],
  }
}
