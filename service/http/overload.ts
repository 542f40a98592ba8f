export interface OverloadOptions {
  /** The event loop may be this late for long. */
  delaySecondsMax: number
  /** How late it typically was since the last call. */
  readDelaySeconds: () => number
  /** Seconds of a clock that only goes forward. */
  steadySeconds: () => number
}

const LOOK_SECONDS = 1
/** One long pause, such as a garbage collection, is no overload. */
const LATE_LOOKS_MIN = 2
/** Shedding itself makes the loop faster, so it ends only well below the limit. */
const RECOVERED_PART = 0.5

/**
 * Says whether this process has more to do than it can do. It looks when it is asked, once a
 * second at most; between looks the answer is one comparison.
 */
export class Overload {
  readonly #options: OverloadOptions
  #lookedAt: number
  #lateLooks = 0
  #isShedding = false

  constructor(options: OverloadOptions) {
    this.#options = options
    this.#lookedAt = options.steadySeconds()
  }

  isShedding(): boolean {
    const now = this.#options.steadySeconds()
    if (now - this.#lookedAt >= LOOK_SECONDS) {
      this.#lookedAt = now
      this.#judge(this.#options.readDelaySeconds())
    }
    return this.#isShedding
  }

  #judge(delaySeconds: number): void {
    const { delaySecondsMax } = this.#options
    this.#lateLooks = delaySeconds > delaySecondsMax ? this.#lateLooks + 1 : 0
    this.#isShedding = this.#isShedding
      ? delaySeconds > delaySecondsMax * RECOVERED_PART
      : this.#lateLooks >= LATE_LOOKS_MIN
  }
}
