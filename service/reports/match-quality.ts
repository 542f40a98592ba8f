import type { MatchKeyCounts } from '../delivery/sent-counts-store.ts'
import type { EventQuality } from '../platforms/platform.ts'

/** A snapshot of the same destination from before. */
export interface EarlierScore {
  /** UTC days from it to the new one. */
  daysEarlier: number
  measuredAt: Date
  /** Decimal text. */
  score: string
}

export interface MatchAssessment {
  /** Decimal text, 0 to 10. */
  score: string
  /** Decimal text; null when there is no snapshot of 6 to 8 days earlier. */
  weekOverWeekChange: string | null
  /** Fell by 1.0 or more within a week; null when nobody can know. */
  hasFallen: boolean | null
  /** Below 4.0. */
  isLow: boolean
}

export interface MatchQualityInput {
  /** What the platform says, an event name each. */
  events: readonly EventQuality[]
  /** What we count. */
  ours: readonly MatchKeyCounts[]
  earlier: readonly EarlierScore[]
  at: Date
}

/** The event whose match decides what a sale is worth to the platform. */
export const SCORED_EVENT_NAME = 'Purchase'

const FALL_MILLIONTHS_MIN = 1_000_000n
const FINE_MILLIONTHS_MIN = 4_000_000n
const TENTH_MILLIONTHS = 100_000n
const WEEK_DAYS = 7
/** How much older a snapshot is that counts as one of a week earlier. */
export const EARLIER_DAYS = { daysMin: WEEK_DAYS - 1, daysMax: WEEK_DAYS + 1 }
const DAY_MILLISECONDS = 86_400_000

/**
 * One score for a destination, from what the platform says of each event name, and what has
 * become of it within a week (decisions section 8). Null when the platform has no score yet.
 */
export function assessMatchQuality({
  events,
  ours,
  earlier,
  at,
}: MatchQualityInput): MatchAssessment | null {
  const score = computeScore(events, ours)
  if (score === null) return null
  const before = findWeekEarlier(earlier, at)
  const change = before && score - toMillionths(before.score)
  return {
    score: formatMillionths(score),
    weekOverWeekChange: change === null ? null : formatMillionths(change),
    hasFallen: change === null ? null : change <= -FALL_MILLIONTHS_MIN,
    isLow: score < FINE_MILLIONTHS_MIN,
  }
}

/** That of Purchase as the platform gives it, else the mean of all names to a tenth. */
function computeScore(
  events: readonly EventQuality[],
  ours: readonly MatchKeyCounts[],
): bigint | null {
  const purchase = events.find(({ eventName }) => eventName === SCORED_EVENT_NAME)
  if (purchase) return toMillionths(purchase.score)
  if (events.length === 0) return null
  const weights = chooseWeights(events, ours)
  let sum = 0n
  let weight = 0n
  for (const [index, { score }] of events.entries()) {
    sum += toMillionths(score) * (weights[index] ?? 0n)
    weight += weights[index] ?? 0n
  }
  const tenths = weight * TENTH_MILLIONTHS
  return ((sum + tenths / 2n) / tenths) * TENTH_MILLIONTHS
}

/** From one source for all names: a count of the platform's and one of ours do not compare. */
function chooseWeights(events: readonly EventQuality[], ours: readonly MatchKeyCounts[]): bigint[] {
  const platforms = events.map(({ eventCount }) => eventCount)
  if (platforms.every(count => count !== null) && platforms.some(count => count > 0)) {
    return platforms.map(count => BigInt(Math.trunc(count)))
  }
  const counts = new Map(ours.map(({ eventName, events }) => [eventName, events]))
  const sent = events.map(({ eventName }) => counts.get(eventName) ?? 0)
  if (sent.some(count => count > 0)) return sent.map(count => BigInt(count))
  return events.map(() => 1n)
}

/** Of the snapshots 6 to 8 days earlier the one closest to 7: by days first, then by the clock. */
export function findWeekEarlier<Snapshot extends EarlierScore>(
  earlier: readonly Snapshot[],
  at: Date,
): Snapshot | null {
  const aWeekAgo = at.getTime() - WEEK_DAYS * DAY_MILLISECONDS
  const daysApart = ({ daysEarlier }: Snapshot) => Math.abs(daysEarlier - WEEK_DAYS)
  const apart = ({ measuredAt }: Snapshot) => Math.abs(measuredAt.getTime() - aWeekAgo)
  const { daysMin, daysMax } = EARLIER_DAYS
  const inReach = earlier.filter(
    ({ daysEarlier }) => daysEarlier >= daysMin && daysEarlier <= daysMax,
  )
  inReach.sort(
    (a, b) => daysApart(a) - daysApart(b) || apart(a) - apart(b) || b.daysEarlier - a.daysEarlier,
  )
  return inReach[0] ?? null
}

/** Our own count of one event name, in the words of the wire: it is kept beside the answer. */
export interface EventNameCoverage {
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
export function computeMatchCoverage(ours: readonly MatchKeyCounts[]): EventNameCoverage[] {
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

const DECIMALS = 6

/** Scores are reckoned in millionths: whole numbers, so that 7.3 less 7 is 0.3 and nothing else. */
export function toMillionths(decimal: number | string): bigint {
  return BigInt(Math.round(Number(decimal) * 10 ** DECIMALS))
}

/** Decimal text with a digit after the point at least, as Meta writes scores: `6.0`, `-1.25`. */
export function formatMillionths(millionths: bigint): string {
  const sign = millionths < 0n ? '-' : ''
  const digits = String(millionths < 0n ? -millionths : millionths).padStart(DECIMALS + 1, '0')
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '').padEnd(1, '0')
  return `${sign}${digits.slice(0, -DECIMALS)}.${fraction}`
}
