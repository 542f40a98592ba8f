import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'

export interface TtlCacheLimits {
  ttlMilliseconds: number
  entriesMax: number
  /** The clock, for tests. */
  perf?: { now(): number }
}

/**
 * Caches lookups for a moment, so that thousands of requests a second cost one query. Concurrent
 * requests for a key share a lookup; `batchLoads` and `batchLoadsByNode` share a query among keys.
 * A failed lookup is not cached, whereas `null` is a result like any other. The TTL counts from
 * the start of the lookup: it is the longest time for which a change elsewhere, such as a
 * revocation, stays unseen. `fetchMethod` of lru-cache counts from the end and keeps no `null`, so
 * the cache holds the promises themselves.
 */
export class TtlCache<Value> {
  readonly #load: (key: string) => Promise<Value>
  readonly #lookups: LRUCache<string, Promise<Value>>
  /** The results of the lookups that have ended. */
  readonly #values = new WeakMap<Promise<Value>, Value>()

  constructor(
    load: (key: string) => Promise<Value>,
    { ttlMilliseconds, entriesMax, perf = performance }: TtlCacheLimits,
  ) {
    this.#load = load
    // Resolution 0: otherwise each millisecond with a lookup sets a timer.
    this.#lookups = new LRUCache({ max: entriesMax, ttl: ttlMilliseconds, ttlResolution: 0, perf })
  }

  get(key: string): Promise<Value> {
    const cached = this.#lookups.get(key)
    if (cached) return cached

    const lookup = this.#load(key)
    this.#lookups.set(key, lookup)
    lookup.then(
      value => this.#values.set(lookup, value),
      () => {
        if (this.#lookups.peek(key) === lookup) this.#lookups.delete(key)
      },
    )
    return lookup
  }

  /** The result of a lookup that has ended and is still cached; undefined without one. */
  peekValue(key: string): Value | undefined {
    const lookup = this.#lookups.get(key)
    return lookup && this.#values.get(lookup)
  }

  /** Whether `get` would answer without a new lookup. */
  has(key: string): boolean {
    return this.#lookups.has(key)
  }

  clear(): void {
    this.#lookups.clear()
  }
}

/** Values in the order of the keys. */
type LoadMany<Value> = (keys: readonly string[]) => Promise<readonly Value[]>

/** Keys of one lookup: a statement with more of them would delay the first. */
const KEYS_MAX = 1_000

/**
 * Looks up all keys of one iteration of the event loop at once: with ten thousand trackers, nearly
 * every request misses the caches. Keys that share a lookup also share its failure, so keys of
 * trackers go through `batchLoadsByNode`.
 */
export function batchLoads<Value>(loadMany: LoadMany<Value>): (key: string) => Promise<Value> {
  const loader = new DataLoader(loadMany, {
    cache: false,
    maxBatchSize: KEYS_MAX,
    batchScheduleFn: dispatch => setImmediate(dispatch),
  })
  return key => loader.load(key)
}

/** Wraps `work` so that concurrent callers share one run and its result. */
export function singleFlight<Value>(work: () => Promise<Value>): () => Promise<Value> {
  let current: Promise<Value> | null = null
  return () => {
    current ??= work().finally(() => {
      current = null
    })
    return current
  }
}
