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
export const CIRCUIT_MOVES = {
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
