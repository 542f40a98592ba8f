import { SharedNumberMap } from './shared-number-map.ts'

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
  /** Of `allocateMemory`, where several threads count together; left out, it counts alone. */
  memory?: SharedArrayBuffer | undefined
}

export interface BucketState {
  /** Whole requests that are in the bucket. */
  remaining: number
  /** 0, or the seconds until the request that found the bucket empty would find one in it. */
  waitSeconds: number
}

/** 2 MB of memory, of which only what is touched takes room. */
const KEYS_MAX = 100_000

/** Sums of fractions are not exact; nobody is refused for a millionth of a request. */
const ROUNDING = 1e-6

/** The word of the shared memory that says until when some bucket is not full, in seconds. */
const BUSY_UNTIL = 0

/**
 * One bucket a key, in memory that the threads of this process may share: then a limit holds over
 * all of them together. Nothing runs by itself: a bucket is the moment at which it will be full
 * again, on a clock that counts the requests that come back (GCRA), and a full bucket is the same
 * as none.
 */
export class RateLimiter {
  readonly rate: Rate
  readonly #steadySeconds: () => number
  readonly #fullAt: SharedNumberMap

  constructor(options: RateLimiterOptions) {
    this.rate = { perSecond: options.perSecond, burst: options.burst }
    this.#steadySeconds = options.steadySeconds
    const memory = options.memory ?? RateLimiter.allocateMemory(options.keysMax)
    this.#fullAt = new SharedNumberMap(memory)
  }

  /** For limiters of several threads that count together. */
  static allocateMemory(keysMax = KEYS_MAX): SharedArrayBuffer {
    return SharedNumberMap.allocate(keysMax)
  }

  /** True when every bucket is full: nobody has taken anything lately. */
  get isIdle(): boolean {
    return this.#steadySeconds() >= Atomics.load(this.#fullAt.words, BUSY_UNTIL)
  }

  /** Takes one request out of the bucket of `key`, unless it is empty. */
  take(key: string): BucketState {
    const now = this.#steadySeconds() * this.rate.perSecond
    let state: BucketState = { remaining: 0, waitSeconds: 0 }
    const fullAt = this.#fullAt.update(key, before => {
      const taken = Math.max(0, before - now)
      state = this.#stateAfter(taken + 1)
      return now + taken + (state.waitSeconds > 0 ? 0 : 1)
    })
    this.#noteBusy(fullAt / this.rate.perSecond)
    return state
  }

  /** What `take` would answer now, and nothing is taken. */
  look(key: string): BucketState {
    const now = this.#steadySeconds() * this.rate.perSecond
    return this.#stateAfter(Math.max(0, this.#fullAt.get(key) - now) + 1)
  }

  #stateAfter(taken: number): BucketState {
    const { perSecond, burst } = this.rate
    const left = burst - taken + ROUNDING
    if (left < 0) return { remaining: 0, waitSeconds: (taken - burst) / perSecond }
    return { remaining: Math.floor(left), waitSeconds: 0 }
  }

  #noteBusy(fullAtSeconds: number): void {
    const { words } = this.#fullAt
    const until = Math.ceil(fullAtSeconds)
    let known = Atomics.load(words, BUSY_UNTIL)
    while (known < until) {
      const found = Atomics.compareExchange(words, BUSY_UNTIL, known, until)
      if (found === known) return
      known = found
    }
  }
}
