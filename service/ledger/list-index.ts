import type { Database } from '../db/database.ts'
import { dayOf, type LedgerEntry } from './ledger-entry.ts'
import {
  findUnindexedDays,
  indexPositions,
  POSITION_INTERVAL,
  type TrackerDay,
} from './position-store.ts'

/**
 * Pages among the newest events of a tracker are read without positions: with so many of them a
 * page of a hundred is 495 buffers at most, when no two events lie on one page of the table.
 */
const UNINDEXED_EVENTS = 2 * POSITION_INTERVAL
/** Where more than that come in, one round of several thousand costs less than many small ones. */
const PAUSE_SECONDS = 2
/** A tracker that is forgotten here is left to the job. */
const TRACKERS_MAX = 10_000

/**
 * Writes list positions for what this process accepts, beside the commits: for a tracker with 500
 * new events, and every two seconds at most. A job by the minute would leave 7,000 events of a day
 * of ten million without positions, and pages among them at 3,500 buffers.
 */
export class ListIndex {
  readonly #database: Pick<Database, 'query'>
  readonly #steadySeconds: () => number
  #counts = new Map<string, number>()
  /** Days of trackers that have enough new events. */
  #due = new Map<string, TrackerDay>()
  #isIndexing = false
  #startedAt = Number.NEGATIVE_INFINITY

  constructor(database: Pick<Database, 'query'>, steadySeconds = () => performance.now() / 1_000) {
    this.#database = database
    this.#steadySeconds = steadySeconds
  }

  /** These were stored. */
  stored(entries: readonly Pick<LedgerEntry, 'trackerId' | 'createdAt'>[]): void {
    for (const { trackerId, createdAt } of entries) {
      const count = (this.#counts.get(trackerId) ?? 0) + 1
      this.#counts.set(trackerId, count)
      if (count === UNINDEXED_EVENTS) this.#due.set(trackerId, { trackerId, day: dayOf(createdAt) })
    }
    if (this.#counts.size > TRACKERS_MAX) this.#counts.clear()
    if (this.#due.size > 0) this.#index()
  }

  #index(): void {
    const now = this.#steadySeconds()
    if (this.#isIndexing || now - this.#startedAt < PAUSE_SECONDS) return
    const days = [...this.#due.values()]
    for (const { trackerId } of days) this.#counts.delete(trackerId)
    this.#due.clear()
    this.#startedAt = now
    this.#isIndexing = true
    indexDays(this.#database, days)
      // The next round, or the job, has it still to do.
      .catch(() => {})
      .finally(() => {
        this.#isIndexing = false
      })
  }
}

export interface ListIndexing {
  database: Database
  signal: AbortSignal
}

/**
 * Writes the list positions that are missing anywhere: of what came before a process ended, of the
 * end of a day, and of a store that had none.
 */
export async function indexLists({ database, signal }: ListIndexing): Promise<void> {
  await indexDays(database, await findUnindexedDays(database), signal)
}

async function indexDays(
  database: Pick<Database, 'query'>,
  days: readonly TrackerDay[],
  signal?: AbortSignal,
): Promise<void> {
  for (const day of days) {
    let more = true
    while (more && !signal?.aborted) more = (await indexPositions(database, day)).more
  }
}
