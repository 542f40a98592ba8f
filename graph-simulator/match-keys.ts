import { HourlyBuckets, hourOf } from './hourly-buckets.ts'

/** One key of `user_data` that takes part in the score. */
export interface MatchKey {
  key: string
  /** What Meta calls it in `match_key_feedback`. */
  identifier: string
  /** Points of the ten that an event name gets when all its events carry the key. */
  points: number
  /** Shown also when no event carries it, with what it would bring. */
  isRecommended: boolean
}

/**
 * What each key is worth. Meta publishes no weights; these are ours, in the order in which Meta's
 * "Customer Information Parameters" recommends the keys. Together they make the ten points.
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

/** The places in MATCH_KEYS of the keys that a valid event carries. */
export function findMatchKeys(userData: Record<string, unknown>): number[] {
  const places: number[] = []
  for (const [index, { key }] of MATCH_KEYS.entries())
    if (isGiven(userData[key])) places.push(index)
  return places
}

function isGiven(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isGiven)
  return value !== undefined && value !== null && value !== ''
}

/** What the quality edge knows of the events of one name. */
export interface MatchKeyCount {
  events: number
  /** Events that carry each of MATCH_KEYS, in their order. */
  carrying: number[]
  /** From when they happened to when they came, all events together. */
  delaySeconds: number
}

interface MatchableEvent {
  dataset: string
  eventName: string
  eventTime: Date
  /** Places in MATCH_KEYS. */
  keys: number[]
}

const HOURS_REPORTED = 7 * 24

/** Which keys the events of the last 7 days carried, by dataset and event name. */
export class MatchKeyCounts {
  readonly #book = new HourlyBuckets(emptyCount)

  count({ dataset, eventName, eventTime, keys }: MatchableEvent, at: Date): void {
    const cell = this.#book.cell({ dataset, hour: hourOf(at), name: eventName }, at)
    if (!cell) return
    cell.events++
    cell.delaySeconds += Math.max(0, (at.getTime() - eventTime.getTime()) / 1_000)
    for (const key of keys) cell.carrying[key] = (cell.carrying[key] ?? 0) + 1
  }

  /** The counts of the last 7 days, by event name. */
  week(dataset: string, now: Date): Map<string, MatchKeyCount> {
    const until = hourOf(now) + 1
    const sums = new Map<string, MatchKeyCount>()
    for (const [, names] of this.#book.hours(dataset, until - HOURS_REPORTED, until)) {
      for (const [name, count] of names) sums.set(name, sumOf(sums.get(name), count))
    }
    return sums
  }

  forget(): void {
    this.#book.forget()
  }
}

function sumOf(sum = emptyCount(), count: MatchKeyCount): MatchKeyCount {
  return {
    events: sum.events + count.events,
    carrying: sum.carrying.map((carrying, index) => carrying + (count.carrying[index] ?? 0)),
    delaySeconds: sum.delaySeconds + count.delaySeconds,
  }
}

function emptyCount(): MatchKeyCount {
  return { events: 0, carrying: MATCH_KEYS.map(() => 0), delaySeconds: 0 }
}
