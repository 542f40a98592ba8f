import type { CountSourceKind } from '@signalbox/contract/reports.ts'

/** A time range: `from` is inclusive, `until` exclusive. Whole hours, at most 7 days. */
export interface CountedDay {
  from: Date
  until: Date
}

/** The source of an event at the platform: a server, or the platform's script in a browser. */
export type CountedSource = 'server' | 'browser'

/** What a platform tells about the events that it got, in its own words. */
export interface PlatformCounting {
  /**
   * `request_results`: it has no report of a day, and the count is the sum of what `readReceipt`
   * said about the requests of the day.
   */
  source: CountSourceKind
  /** Its words for what it counts. */
  label: string
  /** What it counts, what it never tells and where a person sees it, in sentences. */
  meaning: string
  /** Why it reports no values of money; left out for a platform that does. */
  noValues?: string
  /** Reasons of a result that say that the platform had the event before. */
  duplicateReasons?: readonly string[]
}

/** The number of events that the platform counted, by event name. */
export interface DayCounts {
  kind: 'counts'
  /** Has no prototype, because the platform chooses the names and `__proto__` may be one. */
  counts: Record<string, number>
  /** Whether an hour reached the platform's limit of names, so rarer ones may be missing. */
  isTruncated: boolean
  /** The values that it counted, as decimal text; left out by a platform that reports none. */
  values?: readonly { currency: string; amount: string }[]
}

/** An identifier that callers can send. */
export interface MatchKey {
  key: string
  /** How a shop obtains it. */
  from: string
  /** The coverage that is enough: no shop knows every visitor. */
  enoughPercent: number
}

/** The platform's assessment of one identifier of an event name. */
export interface KeyQuality {
  /** Our name of the key (`em`, `client_ip_address`); unknown keys keep the platform's name. */
  key: string
  /** 0 to 100: the share of events with the key. */
  coveragePercent: number
  /** The possible improvement, in percent; null if the platform does not report it. */
  possibleGainPercent: number | null
}

/** The match quality of one event name. */
export interface EventQuality {
  eventName: string
  /** 0 to 10. */
  score: number
  keys: KeyQuality[]
  /** The number of events behind the score; null if the platform does not report it. */
  eventCount: number | null
}

/** The platform's assessment of the identifiers that it receives. */
export interface MatchQuality {
  kind: 'quality'
  events: EventQuality[]
  /** The complete body of the response. */
  answer: Record<string, unknown>
}
