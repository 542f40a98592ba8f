/** What both sides counted of one event name on one UTC day. */
export interface NameCounts {
  /** We sent something of this name that concerns the day. */
  isOurs: boolean
  /** Live events that the platform accepted from us on the day. */
  accepted: number
  acceptedOfOtherDays: number
  acceptedOnOtherDays: number
  tests: number
  unknownAttempts: number
  /** Deliveries under way whose request may have arrived. */
  inFlight: number
  /** What the platform counts from servers, and from browsers. */
  server: number
  browser: number
}

/**
 * What explains the gap of one event name, `accepted - server`. Signed: negative where the platform
 * has more than we. The gap is the sum of all of them.
 */
export interface NameAccount {
  tests: number
  late: number
  pending: number
  unknown: number
  deduplicated: number
  others: number
  residual: number
}

/**
 * Puts the gap of one event name down to its causes. What is measured goes first. What the platform
 * then still has too much may be requests under way, attempts without an answer and, where others
 * are known to send to the dataset, their events, in this order, each as far as it reaches; what it
 * has too little may be events that a browser sent as well. The rest is nobody's.
 */
export function accountFor(
  counts: NameCounts,
  { hasOtherSenders }: { hasOtherSenders: boolean },
): NameAccount {
  const { accepted, server } = counts
  if (!counts.isOurs) return { ...NOTHING, others: 0 - server, residual: accepted }
  const tests = 0 - counts.tests
  const late = counts.acceptedOfOtherDays - counts.acceptedOnOtherDays
  const rest = accepted - server - tests - late
  const measured = { ...NOTHING, tests, late }
  if (rest >= 0) {
    const deduplicated = Math.min(rest, counts.browser)
    return { ...measured, deduplicated, residual: rest - deduplicated }
  }
  const surplus = 0 - rest
  const pending = Math.min(surplus, counts.inFlight)
  const unknown = Math.min(surplus - pending, counts.unknownAttempts)
  const others = hasOtherSenders ? surplus - pending - unknown : 0
  return {
    ...measured,
    pending: 0 - pending,
    unknown: 0 - unknown,
    others: 0 - others,
    residual: pending + unknown + others - surplus,
  }
}

const NOTHING: NameAccount = {
  tests: 0,
  late: 0,
  pending: 0,
  unknown: 0,
  deduplicated: 0,
  others: 0,
  residual: 0,
}
