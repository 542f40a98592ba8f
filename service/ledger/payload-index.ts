import type { Database } from '../db/database.ts'
import { mergePayloadIndex } from './payload-index-store.ts'

/** 1.5 MB of the 4 MB after which PostgreSQL merges within a statement that stores payloads. */
const MERGE_EVENTS = 20_000

/**
 * Has the index of payloads merged every 20,000 events, beside the commits. PostgreSQL puts new
 * rows on a list first and merges it when it is full, in the middle of whoever's statement that is:
 * that made the p99 of a commit of 500 events 278 ms instead of 211, and now it is 196
 * (docs/decisions/0011).
 */
export class PayloadIndex {
  readonly #database: Database
  #unmerged = 0
  #isMerging = false

  constructor(database: Database) {
    this.#database = database
  }

  /** So many events were stored. */
  stored(count: number): void {
    this.#unmerged += count
    if (this.#unmerged < MERGE_EVENTS || this.#isMerging) return
    this.#unmerged = 0
    this.#isMerging = true
    mergePayloadIndex(this.#database)
      // Without us PostgreSQL does it by itself, only at a worse moment.
      .catch(() => {})
      .finally(() => {
        this.#isMerging = false
      })
  }
}
