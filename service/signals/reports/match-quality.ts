import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import type { MatchKeyCounts } from '../delivery/sent-counts-store.ts'
import type { EventQuality } from '../platforms/platform.ts'

/** An earlier snapshot of the same destination. */
export interface EarlierScore {
  /** UTC days before the new snapshot. */
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
  /** Fell by the threshold or more within a week; null when unknown. */
  hasFallen: boolean | null
  /** Below the threshold. */
  isLow: boolean
}

export interface MatchQualityInput {
  /** The scores of the platform, one per event name. */
  events: readonly EventQuality[]
  /** Our own counts. */
  ours: readonly MatchKeyCounts[]
  earlier: readonly EarlierScore[]
  at: Date
  /** A fall within a week from which on, and a score below which, an alert is raised. */
  thresholds: { scoreFall: string; scoreMin: string }
}

/** The event whose match quality decides the value of a sale to the platform. */
export const SCORED_EVENT_NAME = 'Purchase'

const TENTH_MILLIONTHS = 100_000n
const WEEK_DAYS = 7
/** The age of a snapshot that counts as one week earlier. */
export const EARLIER_DAYS = { daysMin: WEEK_DAYS - 1, daysMax: WEEK_DAYS + 1 }

/**
 * The score of a destination from the scores of its event names, and its change within a week
 * (docs/decisions/0014). Null when the platform has no score yet.
 */
export function assessMatchQuality({
  events,
  ours,
  earlier,
  at,
  thresholds,
}: MatchQualityInput): MatchAssessment | null {
  const score = computeScore(events, ours)
  if (score === null) return null
  const weekEarlier = findWeekEarlier(earlier, at)
  const change = weekEarlier && score - toMillionths(weekEarlier.score)
  return {
    score: formatMillionths(score),
    weekOverWeekChange: change === null ? null : formatMillionths(change),
    hasFallen: change === null ? null : change <= -toMillionths(thresholds.scoreFall),
    isLow: score < toMillionths(thresholds.scoreMin),
  }
}

/** The score of Purchase, else the weighted mean of all names rounded to a tenth. */
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

/** All weights come from one source, because the platform's counts and ours are not comparable. */
function chooseWeights(events: readonly EventQuality[], ours: readonly MatchKeyCounts[]): bigint[] {
  const platformCounts = events.map(({ eventCount }) => eventCount)
  if (platformCounts.every(count => count !== null) && platformCounts.some(count => count > 0)) {
    return platformCounts.map(count => BigInt(Math.trunc(count)))
  }
  const counts = new Map(ours.map(({ eventName, events }) => [eventName, events]))
  const sent = events.map(({ eventName }) => counts.get(eventName) ?? 0)
  if (sent.some(count => count > 0)) return sent.map(count => BigInt(count))
  return events.map(() => 1n)
}

/** The snapshot closest to 7 days earlier, of those 6 to 8 days earlier: by day, then by time. */
export function findWeekEarlier<Snapshot extends EarlierScore>(
  earlier: readonly Snapshot[],
  at: Date,
): Snapshot | null {
  const aWeekAgo = at.getTime() - WEEK_DAYS * DAY_MILLISECONDS
  const daysApart = ({ daysEarlier }: Snapshot) => Math.abs(daysEarlier - WEEK_DAYS)
  const timeApart = ({ measuredAt }: Snapshot) => Math.abs(measuredAt.getTime() - aWeekAgo)
  const { daysMin, daysMax } = EARLIER_DAYS
  const candidates = earlier.filter(
    ({ daysEarlier }) => daysEarlier >= daysMin && daysEarlier <= daysMax,
  )
  candidates.sort(
    (a, b) =>
      daysApart(a) - daysApart(b) || timeApart(a) - timeApart(b) || b.daysEarlier - a.daysEarlier,
  )
  return candidates[0] ?? null
}

/** Our coverage of one event name, stored with the platform's answer under its wire names. */
export interface EventNameCoverage {
  event_name: string
  events: number
  /** Match key (`em`) -> percentage of the events that have it, to a tenth. */
  keys: Record<string, number>
}

/** A day has up to two hundred event names; people read the first few. */
const NAMES_MAX = 50

/**
 * The share of events per name that have each match key: Purchase first, then by number of events.
 * Names without any key were counted before keys were, and are left out.
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

/** Rounds down, so that 100 means all events, and never down to 0. */
function percent(count: number, events: number): number {
  if (count === 0) return 0
  const tenths = Math.floor((Math.min(count, events) * 1_000) / events)
  return Math.max(tenths, 1) / 10
}

const DECIMALS = 6

/** Scores are computed in whole millionths, so that 7.3 - 7 is exactly 0.3. */
export function toMillionths(decimal: number | string): bigint {
  return BigInt(Math.round(Number(decimal) * 10 ** DECIMALS))
}

/** Decimal text with at least one fraction digit: `6.0`, `-1.25`. */
export function formatMillionths(millionths: bigint): string {
  const sign = millionths < 0n ? '-' : ''
  const digits = String(millionths < 0n ? -millionths : millionths).padStart(DECIMALS + 1, '0')
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '').padEnd(1, '0')
  return `${sign}${digits.slice(0, -DECIMALS)}.${fraction}`
}
