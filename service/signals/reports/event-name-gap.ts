import type { WaitingOfDay } from '../delivery/backlog-store.ts'
import { OTHER_NAMES, type SentOfDay } from '../delivery/sent-counts-store.ts'

/** The counts of both sides for one event name on one UTC day. */
export interface EventNameCounts {
  /** We sent events of this name that concern the day. */
  isOurs: boolean
  /** Live events that the platform accepted from us on the day. */
  accepted: number
  acceptedOfOtherDays: number
  acceptedOnOtherDays: number
  tests: number
  unknownAttempts: number
  /** Deliveries in flight whose request may have arrived. */
  inFlight: number
  /** The counts of the platform by source. */
  server: number
  browser: number
}

/**
 * The parts of the gap of one event name, `accepted - server`. Negative where the platform has more
 * than we have. The parts add up to the gap.
 */
export interface GapBreakdown {
  tests: number
  late: number
  pending: number
  unknown: number
  deduplicated: number
  others: number
  residual: number
}

/**
 * Splits the gap of one event name into its causes, measured causes first. A remaining surplus at
 * the platform is attributed to requests in flight, then to attempts without an answer, then, when
 * other senders are known, to their events, each up to its count. A remaining shortage is
 * attributed to events that browsers sent too. The rest is the residual.
 */
export function explainGap(
  counts: EventNameCounts,
  { hasOtherSenders }: { hasOtherSenders: boolean },
): GapBreakdown {
  const { accepted, server } = counts
  if (!counts.isOurs) return { ...NO_GAP, others: 0 - server, residual: accepted }
  const tests = 0 - counts.tests
  const late = counts.acceptedOfOtherDays - counts.acceptedOnOtherDays
  const rest = accepted - server - tests - late
  const measured = { ...NO_GAP, tests, late }
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

const NO_GAP: GapBreakdown = {
  tests: 0,
  late: 0,
  pending: 0,
  unknown: 0,
  deduplicated: 0,
  others: 0,
  residual: 0,
}

/** Names of other senders in a report. The platform lists a hundred names per hour. */
const OTHER_SENDER_NAMES_MAX = 200

interface DayCountSources {
  sent: readonly SentOfDay[]
  waiting: readonly WaitingOfDay[]
  /** The platform's counts by event name. */
  server: Readonly<Record<string, number>>
  browser: Readonly<Record<string, number>>
}

/**
 * The counts of both sides of a day by event name. Unknown names belong to other senders, unless
 * our side stopped counting by name: then they may be ours, and are compared in the shared rest.
 */
export function countByEventName(sides: DayCountSources): Map<string, EventNameCounts> {
  const names = new Map<string, EventNameCounts>()
  for (const { eventName, ...counts } of sides.sent) {
    names.set(eventName, { ...NO_COUNTS, ...counts })
  }
  for (const { eventName, inFlight } of sides.waiting) {
    if (inFlight > 0) names.set(eventName, { ...NO_COUNTS, ...names.get(eventName), inFlight })
  }
  const hasUnlistedNames = names.has(OTHER_NAMES)
  const unknownNames = Object.entries(sides.server)
    .filter(([name, count]) => count > 0 && !names.has(name))
    .sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    .slice(0, hasUnlistedNames ? 0 : OTHER_SENDER_NAMES_MAX)
  for (const [name] of unknownNames) names.set(name, { ...NO_COUNTS, isOurs: false })
  addCounts(names, sides.server, 'server')
  addCounts(names, sides.browser, 'browser')
  return names
}

function addCounts(
  names: Map<string, EventNameCounts>,
  counts: Readonly<Record<string, number>>,
  side: 'server' | 'browser',
): void {
  for (const [name, count] of Object.entries(counts)) {
    const counted = names.get(name) ?? names.get(OTHER_NAMES)
    if (counted) counted[side] += count
    else if (side === 'server' && count > 0) {
      names.set(OTHER_NAMES, { ...NO_COUNTS, isOurs: false, server: count })
    }
  }
}

const NO_COUNTS: EventNameCounts = {
  isOurs: true,
  accepted: 0,
  acceptedOfOtherDays: 0,
  acceptedOnOtherDays: 0,
  tests: 0,
  unknownAttempts: 0,
  inFlight: 0,
  server: 0,
  browser: 0,
}
