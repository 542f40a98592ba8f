/** How long an unreachable lane is left alone: doubling from the first failure on. */
const BREAK_SECONDS_MIN = 1
const BREAK_SECONDS_MAX = 60
/** Beyond this many lanes the oldest entry is forgotten; a lane asked too early asks again. */
const LANES_MAX = 10_000

interface QuietLane {
  untilSeconds: number
  /** Runs in a row that found the platform unreachable. */
  failures: number
}

/**
 * The lanes that one worker leaves alone for a while: those that the platform throttles, and those
 * behind which it cannot be reached (a circuit breaker a lane). While a lane is quiet its rows wait
 * unburnt; afterwards one request tries it before more may follow. Times are seconds of any clock
 * that only goes forward.
 */
export class QuietLanes {
  readonly #lanes = new Map<string, QuietLane>()

  /** Leaves the lane alone for so long; its record of failures stays. */
  keepQuiet(destinationId: string, seconds: number, atSeconds: number): void {
    const { untilSeconds = 0, failures = 0 } = this.#lanes.get(destinationId) ?? {}
    const until = Math.max(untilSeconds, atSeconds + seconds)
    this.#put(destinationId, { untilSeconds: until, failures })
  }

  /** The platform could not be reached: each failure in a row doubles the pause. */
  failed(destinationId: string, atSeconds: number): void {
    const failures = (this.#lanes.get(destinationId)?.failures ?? 0) + 1
    const seconds = Math.min(BREAK_SECONDS_MIN * 2 ** (failures - 1), BREAK_SECONDS_MAX)
    this.#put(destinationId, { untilSeconds: atSeconds + seconds, failures })
  }

  works(destinationId: string): void {
    this.#lanes.delete(destinationId)
  }

  isQuiet(destinationId: string, atSeconds: number): boolean {
    return (this.#lanes.get(destinationId)?.untilSeconds ?? 0) > atSeconds
  }

  /** The lane failed last time: one request may try it, not several. */
  isOnTrial(destinationId: string): boolean {
    return (this.#lanes.get(destinationId)?.failures ?? 0) > 0
  }

  /** The lanes that are quiet at this moment. Forgets those that were quiet for their time. */
  quietAt(atSeconds: number): string[] {
    const quiet: string[] = []
    for (const [destinationId, { untilSeconds, failures }] of this.#lanes) {
      if (untilSeconds > atSeconds) quiet.push(destinationId)
      else if (failures === 0) this.#lanes.delete(destinationId)
    }
    return quiet
  }

  #put(destinationId: string, lane: QuietLane): void {
    this.#lanes.delete(destinationId)
    this.#lanes.set(destinationId, lane)
    const oldest = this.#lanes.keys().next().value
    if (this.#lanes.size > LANES_MAX && oldest !== undefined) this.#lanes.delete(oldest)
  }
}
