interface Timer {
  at: number
  call: () => void
}

const TURNS = 4
const { setImmediate } = globalThis

/**
 * Simulated time for a client that uses the timers of its runtime: it moves to the next timer only
 * when nothing else can happen.
 */
export class FakeClock {
  /** Milliseconds since the start. */
  now = 0
  readonly #startedAt: number
  readonly #random: number
  readonly #timers = new Map<number, Timer>()
  #lastId = 0

  constructor(startedAt: Date, random: number) {
    this.#startedAt = startedAt.getTime()
    this.#random = random
  }

  /** Timers that were neither called nor canceled. */
  get pending(): number {
    return this.#timers.size
  }

  /** Replaces the time, the timers and the random numbers of the process until the test ends. */
  install(): Disposable {
    const { setTimeout, clearTimeout, performance } = globalThis
    const { now } = Date
    const { random } = Math
    Object.assign(globalThis, {
      setTimeout: (call: () => void, milliseconds = 0) => this.schedule(call, milliseconds),
      clearTimeout: (id: number) => this.#timers.delete(id),
      performance: { now: () => this.now },
    })
    Date.now = () => this.#startedAt + this.now
    Math.random = () => this.#random
    return {
      [Symbol.dispose]() {
        Object.assign(globalThis, { setTimeout, clearTimeout, performance })
        Date.now = now
        Math.random = random
      },
    }
  }

  schedule(call: () => void, milliseconds: number): number {
    this.#lastId += 1
    this.#timers.set(this.#lastId, { at: this.now + milliseconds, call })
    return this.#lastId
  }

  /** Moves the time until the promise settles. */
  async run<Value>(promise: Promise<Value>): Promise<Value> {
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    promise.then(settle, settle)
    for (;;) {
      await this.#finishTurns()
      if (isSettled) return promise
      if (!this.#fireNext(Number.POSITIVE_INFINITY)) throw new Error('Nothing is left to wait for.')
    }
  }

  /** Moves the time there, with everything that is due before. */
  async moveTo(milliseconds: number): Promise<void> {
    await this.#finishTurns()
    while (this.#fireNext(milliseconds)) await this.#finishTurns()
    this.now = milliseconds
  }

  #fireNext(until: number): boolean {
    const sorted = [...this.#timers].sort(([, one], [, other]) => one.at - other.at)
    const [next] = sorted
    if (!next || next[1].at > until) return false
    const [id, { at, call }] = next
    this.#timers.delete(id)
    this.now = at
    call()
    return true
  }

  async #finishTurns(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1) {
      await new Promise<void>(resolve => setImmediate(resolve))
    }
  }
}
