import { HourBook, hourOf } from './hour-book.ts'
import { MATCH_KEYS } from './match-keys.ts'

/** What the quality edge knows of the events of one name. */
export interface MatchKeyCount {
  events: number
  /** Events that carry each of MATCH_KEYS, in their order. */
  carrying: number[]
  /** From when they happened to when they came, all events together. */
  delaySeconds: number
}

export interface MatchableEvent {
  dataset: string
  eventName: string
  eventTime: Date
  /** Places in MATCH_KEYS. */
  keys: number[]
}

const HOURS_REPORTED = 7 * 24

/** Which keys the events of the last 7 days carried, by dataset and event name. */
export class MatchKeyBook {
  readonly #book = new HourBook(emptyCount)

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
