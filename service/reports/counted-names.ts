import { OTHER_NAMES, type SentOfDay } from '../delivery/sent-counts-store.ts'
import type { WaitingOfDay } from '../delivery/waiting-of-day-store.ts'
import type { NameCounts } from './name-account.ts'

/** Names of others that a report shows. The platform lists a hundred an hour. */
const OTHERS_NAMES_MAX = 200

export interface CountedDaySides {
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
export function countedNames(sides: CountedDaySides): Map<string, NameCounts> {
  const names = new Map<string, NameCounts>()
  for (const { eventName, ...counts } of sides.sent) {
    names.set(eventName, { ...EMPTY, ...counts })
  }
  for (const { eventName, inFlight } of sides.waiting) {
    if (inFlight > 0) names.set(eventName, { ...EMPTY, ...names.get(eventName), inFlight })
  }
  const hasMore = names.has(OTHER_NAMES)
  const strangers = Object.entries(sides.server)
    .filter(([name, count]) => count > 0 && !names.has(name))
    .sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    .slice(0, hasMore ? 0 : OTHERS_NAMES_MAX)
  for (const [name] of strangers) names.set(name, { ...EMPTY, isOurs: false })
  add(names, sides.server, 'server')
  add(names, sides.browser, 'browser')
  return names
}

function add(
  names: Map<string, NameCounts>,
  counts: Readonly<Record<string, number>>,
  side: 'server' | 'browser',
): void {
  for (const [name, count] of Object.entries(counts)) {
    const counted = names.get(name) ?? names.get(OTHER_NAMES)
    if (counted) counted[side] += count
    else if (side === 'server' && count > 0) {
      names.set(OTHER_NAMES, { ...EMPTY, isOurs: false, server: count })
    }
  }
}

const EMPTY: NameCounts = {
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
