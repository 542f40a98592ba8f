import { HourlyBuckets, toHour } from './hourly-buckets.ts'

/** One key of `user_data` that contributes to the score. */
export interface MatchKey {
  key: string
  /** Its name in `match_key_feedback`. */
  identifier: string
  /** Points, of ten in total, when all events of a name contain the key. */
  points: number
  /** Listed with its potential gain even when no event contains it. */
  isRecommended: boolean
}

/**
 * The weight of each key. Meta publishes no weights; these are ours, in the order in which Meta's
 * "Customer Information Parameters" recommends the keys. They add up to ten points.
 */
export const MATCH_KEYS: readonly MatchKey[] = [
  { key: 'em', identifier: 'email', points: 2.5, isRecommended: true },
  { key: 'ph', identifier: 'phone', points: 1.5, isRecommended: true },
  { key: 'fbc', identifier: 'fbc', points: 1.5, isRecommended: true },
  { key: 'external_id', identifier: 'external_id', points: 1, isRecommended: true },
  { key: 'fbp', identifier: 'fbp', points: 1, isRecommended: true },
  { key: 'client_ip_address', identifier: 'ip_address', points: 0.8, isRecommended: true },
  { key: 'client_user_agent', identifier: 'user_agent', points: 0.7, isRecommended: true },
  { key: 'fn', identifier: 'fn', points: 0.2, isRecommended: false },
  { key: 'ln', identifier: 'ln', points: 0.2, isRecommended: false },
  { key: 'zp', identifier: 'zp', points: 0.2, isRecommended: false },
  { key: 'ct', identifier: 'ct', points: 0.1, isRecommended: false },
  { key: 'st', identifier: 'st', points: 0.1, isRecommended: false },
  { key: 'country', identifier: 'country', points: 0.1, isRecommended: false },
  { key: 'db', identifier: 'db', points: 0.05, isRecommended: false },
  { key: 'ge', identifier: 'ge', points: 0.05, isRecommended: false },
]

/** The indexes in MATCH_KEYS of the keys that a valid event contains. */
export function findMatchKeys(userData: Record<string, unknown>): number[] {
  const indexes: number[] = []
  for (const [index, { key }] of MATCH_KEYS.entries())
    if (hasValue(userData[key])) indexes.push(index)
  return indexes
}

function hasValue(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasValue)
  return value !== undefined && value !== null && value !== ''
}

/** The counts of one event name for the quality edge. */
export interface MatchKeyCount {
  events: number
  /** How many events contain each of MATCH_KEYS, in that order. */
  presentIn: number[]
  /** Sum over all events of the time from event_time to arrival. */
  delaySeconds: number
}

interface MatchableEvent {
  dataset: string
  eventName: string
  eventTime: Date
  /** Indexes in MATCH_KEYS. */
  keys: number[]
}

const HOURS_REPORTED = 7 * 24

/** Which keys the events of the last 7 days contain, by dataset and event name. */
export class MatchKeyCounts {
  readonly #buckets = new HourlyBuckets(emptyCount)

  count({ dataset, eventName, eventTime, keys }: MatchableEvent, at: Date): void {
    const bucket = this.#buckets.bucket({ dataset, hour: toHour(at), name: eventName }, at)
    if (!bucket) return
    bucket.events++
    bucket.delaySeconds += Math.max(0, (at.getTime() - eventTime.getTime()) / 1_000)
    for (const key of keys) bucket.presentIn[key] = (bucket.presentIn[key] ?? 0) + 1
  }

  /** The counts of the last 7 days, by event name. */
  lastWeek(dataset: string, now: Date): Map<string, MatchKeyCount> {
    const until = toHour(now) + 1
    const sums = new Map<string, MatchKeyCount>()
    for (const [, names] of this.#buckets.hours(dataset, until - HOURS_REPORTED, until)) {
      for (const [name, count] of names) sums.set(name, addCounts(sums.get(name), count))
    }
    return sums
  }

  clear(): void {
    this.#buckets.clear()
  }
}

function addCounts(sum = emptyCount(), count: MatchKeyCount): MatchKeyCount {
  return {
    events: sum.events + count.events,
    presentIn: sum.presentIn.map((present, index) => present + (count.presentIn[index] ?? 0)),
    delaySeconds: sum.delaySeconds + count.delaySeconds,
  }
}

function emptyCount(): MatchKeyCount {
  return { events: 0, presentIn: MATCH_KEYS.map(() => 0), delaySeconds: 0 }
}
