import { objectOrEmpty } from '../../../../runtime/util/is-object.ts'
import type { CountedDay, DayCounts } from '../../platform.ts'
import { type ReportBody, toStorableText } from './report-answer.ts'

/** Meta lists so many event names an hour, the most frequent ones ("Ads Pixel Stats"). */
const NAMES_AN_HOUR_MAX = 100
/** No dataset has so many events an hour: a larger number is not a count. */
const COUNT_MAX = 1_000_000_000
const DIGITS = /^\d{1,10}$/
/** Meta writes an offset without a colon: `2026-10-01T01:00:00+0000`. */
const ISO_8601 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(Z|[+-]\d\d:?\d\d)$/

/** Adds up the hours of a day, page by page (Meta: "Ads Pixel Stats", aggregation `event`). */
export class EventCountTally {
  readonly #day: CountedDay
  readonly #sums = new Map<string, number>()
  /** The names that each hour has shown, by its time. */
  readonly #hours = new Map<number, Set<string>>()

  constructor(day: CountedDay) {
    this.#day = day
  }

  /** Adds one page; false when the page is not valid and nothing of it can be used. */
  add({ data }: ReportBody): boolean {
    return Array.isArray(data) && data.every(row => this.#addRow(row))
  }

  counts(): DayCounts {
    const counts: Record<string, number> = Object.create(null)
    for (const [name, sum] of this.#sums) counts[name] = sum
    const isTruncated = [...this.#hours.values()].some(names => names.size >= NAMES_AN_HOUR_MAX)
    return { kind: 'counts', counts, isTruncated }
  }

  /** Meta may return an hour outside of the span; it does not count. */
  #addRow(row: unknown): boolean {
    const { start_time, aggregation, data } = objectOrEmpty(row)
    const at = readTime(start_time)
    if (at === null || aggregation !== 'event' || !Array.isArray(data)) return false
    const { from, until } = this.#day
    if (at < from.getTime() || at >= until.getTime()) return true
    const names = this.#hours.get(at) ?? new Set()
    this.#hours.set(at, names)
    return data.every(entry => this.#addEntry(names, entry))
  }

  /** An hour that has a name twice is rejected: it is not clear which count is right. */
  #addEntry(names: Set<string>, entry: unknown): boolean {
    const { value, count } = objectOrEmpty(entry)
    const events = readCount(count)
    if (typeof value !== 'string' || value === '' || events === null) return false
    const name = toStorableText(value)
    if (names.has(name)) return false
    names.add(name)
    this.#sums.set(name, (this.#sums.get(name) ?? 0) + events)
    return true
  }
}

/** Meta was seen to write counts as numbers and as strings. */
function readCount(value: unknown): number | null {
  const count = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value
  if (typeof count !== 'number' || !Number.isSafeInteger(count)) return null
  return count >= 0 && count <= COUNT_MAX ? count : null
}

function readTime(value: unknown): number | null {
  const [, time, offset = ''] = ISO_8601.exec(typeof value === 'string' ? value : '') ?? []
  const at = Date.parse(`${time}${offset.replace(/(\d\d)(\d\d)$/, '$1:$2')}`)
  return Number.isNaN(at) ? null : at
}
