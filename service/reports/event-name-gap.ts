import type { WaitingOfDay } from '../delivery/backlog-store.ts'
import { OTHER_NAMES, type SentOfDay } from '../delivery/sent-counts-store.ts'

/** What both sides counted of one event name on one UTC day. */
export interface EventNameCounts {
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
 * Puts the gap of one event name down to its causes. What is measured goes first. What the platform
 * then still has too much may be requests under way, attempts without an answer and, where others
 * are known to send to the dataset, their events, in this order, each as far as it reaches; what it
 * has too little may be events that a browser sent as well. The rest is nobody's.
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

/** Names of others that a report shows. The platform lists a hundred an hour. */
const OTHER_SENDER_NAMES_MAX = 200

interface DayCountSources {
  sent: readonly SentOfDay[]
  waiting: readonly WaitingOfDay[]
  /** The platform's counts by event name. */
  server: Readonly<Record<string, number>>
  browser: Readonly<Record<string, number>>
}

/**
 * Both sides of a day by event name. Names that we do not know are the platform's alone; where we
 * gave up counting by name, they may be ours as well and are compared together with ours.
 */
export function countByEventName(sides: DayCountSources): Map<string, EventNameCounts> {
  const names = new Map<string, EventNameCounts>()
  for (const { eventName, ...counts } of sides.sent) {
    names.set(eventName, { ...NO_COUNTS, ...counts })
  }
  for (const { eventName, inFlight } of sides.waiting) {
    if (inFlight > 0) names.set(eventName, { ...NO_COUNTS, ...names.get(eventName), inFlight })
  }
  const hasMore = names.has(OTHER_NAMES)
  const strangers = Object.entries(sides.server)
    .filter(([name, count]) => count > 0 && !names.has(name))
    .sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    .slice(0, hasMore ? 0 : OTHER_SENDER_NAMES_MAX)
  for (const [name] of strangers) names.set(name, { ...NO_COUNTS, isOurs: false })
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
