/**
 * How long an unreachable lane is left alone: doubling from the first failure on. The longest pause
 * is how late we notice that the platform is back.
 */
const BACKOFF_SECONDS_MIN = 1
const BACKOFF_SECONDS_MAX = 15
/** One dropped connection is no outage: from so many failures in a row on the circuit is open. */
const OPEN_FAILURES_MIN = 3
/** A lane that had nothing to try the platform with for so long begins anew. */
const RESET_SECONDS = 86_400
/** Beyond this many lanes the oldest entry is forgotten; a lane asked too early asks again. */
const CIRCUITS_MAX = 10_000

/** `half_open` is what time makes of `open`, so it is not kept. */
type Circuit =
  | { state: 'throttled'; untilSeconds: number }
  | {
      state: 'suspect' | 'open'
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
export class CircuitBreakers {
  readonly #lanes = new Map<string, Circuit>()

  /** Leaves the lane alone for so long; its record of failures stays. */
  backOff(destinationId: string, seconds: number, atSeconds: number): void {
    const known = this.#lanes.get(destinationId)
    const untilSeconds = Math.max(known?.untilSeconds ?? 0, atSeconds + seconds)
    this.#put(destinationId, { ...(known ?? { state: 'throttled' }), untilSeconds })
  }

  /**
   * The platform could not be reached: each failure in a row doubles the pause. Requests that were
   * under way together fail together, so what fails during the pause is the same failure.
   */
  recordFailure(destinationId: string, atSeconds: number): void {
    if (this.isBackingOff(destinationId, atSeconds)) return
    const known = this.#lanes.get(destinationId)
    const failures = (known && known.state !== 'throttled' ? known.failures : 0) + 1
    const seconds = Math.min(BACKOFF_SECONDS_MIN * 2 ** (failures - 1), BACKOFF_SECONDS_MAX)
    const state = failures < OPEN_FAILURES_MIN ? 'suspect' : 'open'
    this.#put(destinationId, { state, untilSeconds: atSeconds + seconds, failures })
  }

  /**
   * A request got through. A pause that the platform asked for in another answer goes on. True when
   * it ends a record of failures.
   */
  recordSuccess(destinationId: string, atSeconds: number): boolean {
    const wasOnTrial = this.isOnTrial(destinationId)
    if (this.stateAt(destinationId, atSeconds) !== 'throttled') this.#lanes.delete(destinationId)
    return wasOnTrial
  }

  isBackingOff(destinationId: string, atSeconds: number): boolean {
    return (this.#lanes.get(destinationId)?.untilSeconds ?? 0) > atSeconds
  }

  /** The lane failed last time: one request may try it, not several. */
  isOnTrial(destinationId: string): boolean {
    const known = this.#lanes.get(destinationId)
    return known !== undefined && known.state !== 'throttled'
  }

  /** The circuit has opened, and no request has got through since, also while it is half open. */
  hasOpened(destinationId: string): boolean {
    return this.#lanes.get(destinationId)?.state === 'open'
  }

  stateAt(destinationId: string, atSeconds: number): CircuitState {
    const known = this.#lanes.get(destinationId)
    return known ? stateOf(known, atSeconds) : 'closed'
  }

  /** The lanes that are quiet at this moment. Forgets those that were quiet for their time. */
  listBackingOff(atSeconds: number): string[] {
    const quiet: string[] = []
    for (const [destinationId, lane] of this.#lanes) {
      if (lane.untilSeconds > atSeconds) quiet.push(destinationId)
      else if (stateOf(lane, atSeconds) === 'closed') this.#lanes.delete(destinationId)
    }
    return quiet
  }

  /** The lanes that are not quiet, and that one request may try. */
  listOnTrial(atSeconds: number): string[] {
    const lanes = [...this.#lanes.keys()]
    return lanes.filter(id => this.isOnTrial(id) && !this.isBackingOff(id, atSeconds))
  }

  countStates(atSeconds: number): CircuitCounts {
    const counts = { open: 0, half_open: 0, throttled: 0 }
    for (const lane of this.#lanes.values()) {
      const state = stateOf(lane, atSeconds)
      if (state !== 'closed' && state !== 'suspect') counts[state] += 1
    }
    return counts
  }

  #put(destinationId: string, lane: Circuit): void {
    this.#lanes.delete(destinationId)
    this.#lanes.set(destinationId, lane)
    const oldest = this.#lanes.keys().next().value
    if (this.#lanes.size > CIRCUITS_MAX && oldest !== undefined) this.#lanes.delete(oldest)
  }
}

function stateOf({ state, untilSeconds }: Circuit, atSeconds: number): CircuitState {
  if (untilSeconds > atSeconds) return state
  switch (state) {
    case 'throttled':
      return 'closed'
    case 'suspect':
    case 'open':
      if (atSeconds - untilSeconds > RESET_SECONDS) return 'closed'
      return state === 'open' ? 'half_open' : 'suspect'
  }
}

/**
 * The circuit of one lane in one process: whether requests go to its platform, and why not.
 * - closed: as many requests as the lane may have.
 * - throttled: none for as long as the platform asked for, or after a stumble of our own.
 * - suspect: the last one or two requests in a row found no platform; after a short pause one
 *   request tries it.
 * - open: so did three or more; none until the pause is over.
 * - half_open: the pause is over, and one request tries it.
 */
export type CircuitState = 'closed' | 'throttled' | 'suspect' | 'open' | 'half_open'

/** Every move between them; `docs/states.md` is the picture. */
export const CIRCUIT_TRANSITIONS = {
  closed: ['throttled', 'suspect'],
  throttled: ['closed'],
  suspect: ['open', 'closed'],
  open: ['half_open', 'closed'],
  half_open: ['open', 'closed'],
} as const satisfies Record<CircuitState, readonly CircuitState[]>

/** The circuit of a destination opened or closed in this process, for the log. */
export interface CircuitChange {
  trackerId: string
  destinationId: string
  state: Extract<CircuitState, 'open' | 'closed'>
}

/** How many lanes are in the states that an operator wants to see. */
export type CircuitCounts = Record<'open' | 'half_open' | 'throttled', number>
