import { isObject, objectOrEmpty, parseJsonObject } from '../../../../runtime/util/is-object.ts'
import type { CountedDay, DayCounts, Unavailable, UnavailableCause } from '../../platform.ts'
import { type AnswerClass, classifyErrorCode, classifyHttpStatus } from '../graph-api.ts'

/** A JSON object whose members are not checked. */
export type ReportBody = Record<string, unknown>

export interface ReportAnswer {
  kind: 'answer'
  body: ReportBody
}

interface ReportResponse {
  status: number
  text: string
  /** How long the headers ask the client to wait, in seconds; 0 without a request. */
  waitSeconds: number
}

/** Reads an answer, or why it has nothing to use (Meta: Graph API, Handling Errors). */
export function readReportAnswer({
  status,
  text,
  waitSeconds,
}: ReportResponse): ReportAnswer | Unavailable {
  const body = parseJsonObject(text)
  if (body && isObject(body.error)) return readRefusal(body.error, { status, waitSeconds })
  if (status === 200 && body) return { kind: 'answer', body }
  if (status === 429) return unavailableOf(classifyHttpStatus(status), waitSeconds)
  return unavailable(status >= 500 ? 'out_of_reach' : 'unreadable', { waitSeconds })
}

function readRefusal(
  error: Record<string, unknown>,
  { status, waitSeconds }: { status: number; waitSeconds: number },
): Unavailable {
  const { code, error_subcode, is_transient } = error
  if (!Number.isSafeInteger(code)) return unavailableOf(classifyHttpStatus(status), waitSeconds)
  const subcode = Number.isSafeInteger(error_subcode) ? (error_subcode as number) : null
  const isTransient = is_transient === true
  return unavailableOf(
    classifyErrorCode({ code: code as number, subcode, isTransient }),
    waitSeconds,
  )
}

/**
 * Maps the class of an error on a report. Every dataset gets the same request, so when Meta rejects
 * a parameter it is the dataset that may not be read: `(#100) Permission Denied`.
 */
function unavailableOf(
  { outcome, waitSecondsMin }: AnswerClass,
  askedSeconds: number,
): Unavailable {
  const waitSeconds = Math.max(askedSeconds, waitSecondsMin)
  switch (outcome) {
    case 'auth':
      return unavailable('credential', { waitSeconds })
    case 'throttle':
      return unavailable('throttled', { waitSeconds })
    case 'config':
    case 'permanent':
      return unavailable('permission', { waitSeconds })
    case 'retry':
    case 'unknown':
      return unavailable('out_of_reach', { waitSeconds })
  }
}

/** What to do about each cause. None of them quotes the platform. */
type MetaCause = Exclude<UnavailableCause, 'unsupported'>

const SENTENCES: Record<MetaCause, string> = {
  permission:
    'The platform does not show this dataset to the access token: give its user the right to ' +
    'use the dataset, or enter a token that has it.',
  credential: 'The platform refuses the access token: enter a new one.',
  throttled: 'The platform has had too many requests: wait, and ask again later.',
  out_of_reach: 'The platform gave no usable answer: ask again later.',
  out_of_range: 'The platform shows counts of the last 7 days only: nothing older can be read.',
  unreadable:
    'The platform gave an answer that cannot be read: ask again later, and report it if it stays.',
}

/** A report that is not available, with a sentence for a person. */
export function unavailable(
  cause: MetaCause,
  {
    sentence = SENTENCES[cause],
    waitSeconds = 0,
  }: { sentence?: string; waitSeconds?: number } = {},
): Unavailable {
  return { kind: 'unavailable', cause, sentence, waitSeconds }
}

const REPLACEMENT = '\uFFFD'

/** Text of the platform as the store takes it: without NUL and unpaired surrogates. */
export function toStorableText(text: string): string {
  return text.replaceAll('\0', REPLACEMENT).toWellFormed()
}

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
