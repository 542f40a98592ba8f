/** A token bucket: it holds `burst` requests, and what was taken comes back at a steady rate. */
export interface Rate {
  perSecond: number
  burst: number
}

export interface RateLimiterOptions extends Rate {
  /** Seconds of a clock that only goes forward. */
  steadySeconds: () => number
  /** Keys that are remembered at most; beyond it those not seen for longest begin anew. */
  keysMax?: number
}

export interface BucketState {
  /** Whole requests that are in the bucket. */
  remaining: number
  /** 0, or the seconds until the request that found the bucket empty would find one in it. */
  waitSeconds: number
}

/** 14 MB when they are all addresses. */
const KEYS_MAX = 100_000

/** Sums of fractions are not exact; nobody is refused for a millionth of a request. */
const ROUNDING = 1e-6

/**
 * One bucket a key, in the memory of this process. Nothing runs by itself: a bucket is the moment
 * at which it will be full again, on a clock that counts the requests that come back (GCRA), and a
 * full bucket is the same as none.
 *
 * Keys lie in two maps. The older one is dropped when every bucket in it is full again, so only
 * the callers of the last moments take memory, and nothing is searched or sorted.
 */
export class RateLimiter {
  readonly rate: Rate
  readonly #steadySeconds: () => number
  readonly #keysMax: number
  #recent = new Map<string, number>()
  #older = new Map<string, number>()
  #turnedAt = Number.NEGATIVE_INFINITY

  constructor(options: RateLimiterOptions) {
    this.rate = { perSecond: options.perSecond, burst: options.burst }
    this.#steadySeconds = options.steadySeconds
    this.#keysMax = options.keysMax ?? KEYS_MAX
  }

  /** True when nobody has taken anything lately. */
  get isIdle(): boolean {
    return this.#recent.size + this.#older.size === 0
  }

  /** Takes one request out of the bucket of `key`, unless it is empty. */
  take(key: string): BucketState {
    const now = this.#readClock()
    const taken = this.#takenFrom(key, now)
    const state = this.#stateAfter(taken + 1)
    this.#recent.set(key, now + taken + (state.waitSeconds > 0 ? 0 : 1))
    return state
  }

  /** What `take` would answer now, and nothing is taken. */
  look(key: string): BucketState {
    return this.#stateAfter(this.#takenFrom(key, this.#readClock()) + 1)
  }

  /** Requests that are missing from the bucket of `key`. */
  #takenFrom(key: string, now: number): number {
    const fullAt = this.#recent.get(key) ?? this.#older.get(key) ?? now
    return fullAt > now ? fullAt - now : 0
  }

  #stateAfter(taken: number): BucketState {
    const { perSecond, burst } = this.rate
    const left = burst - taken + ROUNDING
    if (left < 0) return { remaining: 0, waitSeconds: (taken - burst) / perSecond }
    return { remaining: Math.floor(left), waitSeconds: 0 }
  }

  #readClock(): number {
    const now = this.#steadySeconds() * this.rate.perSecond
    const isOlderFull = now - this.#turnedAt >= this.rate.burst
    if (isOlderFull || this.#recent.size >= this.#keysMax / 2) {
      this.#older = this.#recent
      this.#recent = new Map()
      this.#turnedAt = now
    }
    return now
  }
}
