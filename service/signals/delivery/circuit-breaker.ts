/**
 * The backoff of an unreachable destination doubles from the first failure on. The longest one is
 * how late a worker notices that the platform is back.
 */
const BACKOFF_SECONDS_MIN = 1
const BACKOFF_SECONDS_MAX = 15
/** One dropped connection is no outage: the circuit opens after this many consecutive failures. */
const OPEN_FAILURES_MIN = 3
/** A destination that had nothing to send for this long starts again with a closed circuit. */
const RESET_SECONDS = 86_400
/** Beyond this many, the oldest circuit is dropped; its destination may be tried too early. */
const CIRCUITS_MAX = 10_000

/**
 * The circuit of one destination in one process: whether requests go to its platform, and why not.
 * - closed: as many requests as the destination may have.
 * - throttled: none for as long as the platform asked, until the shared limit of requests has some
 *   left, or after an error of our own.
 * - suspect: the last one or two requests did not reach the platform; after a short backoff one
 *   request tries again.
 * - open: three or more did not; none until the backoff is over.
 * - half_open: the backoff is over, and one request tries again.
 */
export type CircuitState = 'closed' | 'throttled' | 'suspect' | 'open' | 'half_open'

/** Every transition between them; `docs/states.md` draws them. */
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

/** How many destinations are in the states that an operator monitors. */
export type CircuitCounts = Record<'open' | 'half_open' | 'throttled', number>

/** `open` becomes `half_open` by time alone, so `half_open` is not stored. */
type Circuit =
  | { state: 'throttled'; untilSeconds: number }
  | {
      state: 'suspect' | 'open'
      untilSeconds: number
      /** Consecutive runs that did not reach the platform. */
      failures: number
    }

/**
 * The destinations to which one worker sends nothing for a while: those that the platform throttles
 * and those that it cannot reach, with one circuit breaker per destination. During a backoff the
 * rows wait and no attempt is counted; afterwards one request is made before more may follow. Times
 * are seconds of any monotonic clock.
 */
export class CircuitBreakers {
  readonly #circuits = new Map<string, Circuit>()

  /** Sends nothing for this long; the recorded failures stay. */
  backOff(destinationId: string, seconds: number, atSeconds: number): void {
    const circuit = this.#circuits.get(destinationId)
    const untilSeconds = Math.max(circuit?.untilSeconds ?? 0, atSeconds + seconds)
    this.#set(destinationId, { ...(circuit ?? { state: 'throttled' }), untilSeconds })
  }

  /**
   * The platform was unreachable: each consecutive failure doubles the backoff. Requests that were
   * in flight together fail together, so a failure during the backoff is the same failure.
   */
  recordFailure(destinationId: string, atSeconds: number): void {
    if (this.isBackingOff(destinationId, atSeconds)) return
    const circuit = this.#circuits.get(destinationId)
    const failures = (circuit && circuit.state !== 'throttled' ? circuit.failures : 0) + 1
    const seconds = Math.min(BACKOFF_SECONDS_MIN * 2 ** (failures - 1), BACKOFF_SECONDS_MAX)
    const state = failures < OPEN_FAILURES_MIN ? 'suspect' : 'open'
    this.#set(destinationId, { state, untilSeconds: atSeconds + seconds, failures })
  }

  /**
   * A request reached the platform. A throttle from another answer goes on. True when it ends a
   * series of failures.
   */
  recordSuccess(destinationId: string, atSeconds: number): boolean {
    const wasOnTrial = this.isOnTrial(destinationId)
    if (this.stateAt(destinationId, atSeconds) !== 'throttled') this.#circuits.delete(destinationId)
    return wasOnTrial
  }

  forget(destinationId: string): void {
    this.#circuits.delete(destinationId)
  }

  /** How long nothing is sent yet; 0 when a request may be made. */
  secondsLeft(destinationId: string, atSeconds: number): number {
    return Math.max(0, (this.#circuits.get(destinationId)?.untilSeconds ?? 0) - atSeconds)
  }

  isBackingOff(destinationId: string, atSeconds: number): boolean {
    return (this.#circuits.get(destinationId)?.untilSeconds ?? 0) > atSeconds
  }

  /** The last request failed: one request at a time may try again. */
  isOnTrial(destinationId: string): boolean {
    const circuit = this.#circuits.get(destinationId)
    return circuit !== undefined && circuit.state !== 'throttled'
  }

  /** The circuit is open or half open: no request has reached the platform since it opened. */
  hasOpened(destinationId: string): boolean {
    return this.#circuits.get(destinationId)?.state === 'open'
  }

  stateAt(destinationId: string, atSeconds: number): CircuitState {
    const circuit = this.#circuits.get(destinationId)
    return circuit ? circuitStateAt(circuit, atSeconds) : 'closed'
  }

  /** The destinations that are backing off. Drops the circuits that have closed by time. */
  listBackingOff(atSeconds: number): string[] {
    const backingOff: string[] = []
    for (const [destinationId, circuit] of this.#circuits) {
      if (circuit.untilSeconds > atSeconds) backingOff.push(destinationId)
      else if (circuitStateAt(circuit, atSeconds) === 'closed') this.#circuits.delete(destinationId)
    }
    return backingOff
  }

  /** The destinations that one request at a time may try. */
  listOnTrial(atSeconds: number): string[] {
    const ids = [...this.#circuits.keys()]
    return ids.filter(id => this.isOnTrial(id) && !this.isBackingOff(id, atSeconds))
  }

  countStates(atSeconds: number): CircuitCounts {
    const counts = { open: 0, half_open: 0, throttled: 0 }
    for (const circuit of this.#circuits.values()) {
      const state = circuitStateAt(circuit, atSeconds)
      if (state !== 'closed' && state !== 'suspect') counts[state] += 1
    }
    return counts
  }

  #set(destinationId: string, circuit: Circuit): void {
    this.#circuits.delete(destinationId)
    this.#circuits.set(destinationId, circuit)
    const oldest = this.#circuits.keys().next().value
    if (this.#circuits.size > CIRCUITS_MAX && oldest !== undefined) this.#circuits.delete(oldest)
  }
}

function circuitStateAt({ state, untilSeconds }: Circuit, atSeconds: number): CircuitState {
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
