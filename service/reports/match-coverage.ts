import type { MatchKeyCounts } from '../delivery/sent-counts-store.ts'
import { SCORED_EVENT_NAME } from './match-quality.ts'

/** Our own count of one event name, in the words of the wire: it is kept beside the answer. */
export interface NameCoverage {
  event_name: string
  events: number
  /** Match key (`em`) -> per cent of the events that carried it, to a tenth. */
  keys: Record<string, number>
}

/** Callers name their events; a day has some two hundred names, a person reads the first few. */
const NAMES_MAX = 50

/**
 * Which share of the events of each name carried each match key: Purchase first, then by number
 * of events. A name without any key was counted before keys were, and says nothing.
 */
export function matchCoverage(ours: readonly MatchKeyCounts[]): NameCoverage[] {
  return ours
    .filter(({ events, keys }) => events > 0 && Object.keys(keys).length > 0)
    .toSorted((a, b) => rank(b) - rank(a) || (a.eventName < b.eventName ? -1 : 1))
    .slice(0, NAMES_MAX)
    .map(({ eventName, events, keys }) => ({
      event_name: eventName,
      events,
      keys: Object.fromEntries(
        Object.entries(keys).map(([key, count]) => [key, percent(count, events)]),
      ),
    }))
}

function rank({ eventName, events }: MatchKeyCounts): number {
  return eventName === SCORED_EVENT_NAME ? Number.POSITIVE_INFINITY : events
}

/** Rounded down, so that 100 means all of them; but one in a million is not none. */
function percent(count: number, events: number): number {
  if (count === 0) return 0
  const tenths = Math.floor((Math.min(count, events) * 1_000) / events)
  return Math.max(tenths, 1) / 10
}
