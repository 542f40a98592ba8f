/** Whose reports to read, and as whom. */
export interface ReportTarget {
  datasetId: string
  accessToken: string
}

/** The span to count: `from` belongs to it, `until` does not. Whole hours, at most 7 days. */
export interface CountedDay {
  from: Date
  until: Date
}

/** Where the platform got an event from: a server, or its own script in a browser. */
export type CountedSource = 'server' | 'browser'

/**
 * Why nothing could be read.
 * - permission: the credential is good, but may not read this; sending may well work.
 * - credential: the platform refuses the credential itself.
 * - throttled: too many requests; ask again after `waitSeconds`.
 * - out_of_reach: no usable word from the platform; it may work later.
 * - out_of_range: the platform keeps nothing so old; asking again never helps.
 * - unreadable: an answer came that we do not understand, or do not believe.
 */
export type UnavailableCause =
  | 'permission'
  | 'credential'
  | 'throttled'
  | 'out_of_reach'
  | 'out_of_range'
  | 'unreadable'

/** Why nothing could be read. Never to be taken for zero. */
export interface Unavailable {
  kind: 'unavailable'
  cause: UnavailableCause
  /** One sentence for a person, without a token or a raw identifier. */
  sentence: string
  /** How long the platform asks us to stay away, in seconds; 0 when it asks for nothing. */
  waitSeconds: number
}

/** How many events the platform counted, by event name. */
export interface DayCounts {
  kind: 'counts'
  /** Has no prototype: the names are the platform's, so one of them may be `__proto__`. */
  counts: Record<string, number>
  /** An hour had exactly as many names as the platform lists, so rarer ones may be missing. */
  isCut: boolean
}

/** How well one identifier of an event name matches people, as the platform sees it. */
export interface KeyQuality {
  /** In our words (`em`, `client_ip_address`); a key that we do not know stays as it came. */
  key: string
  /** 0 to 100: the share of the events that carried the key. */
  coveragePercent: number
  /** What more of it might bring, in per cent; null where the platform does not say. */
  possibleGainPercent: number | null
}

/** The match quality of one event name. */
export interface EventQuality {
  eventName: string
  /** 0 to 10. */
  score: number
  keys: KeyQuality[]
  /** The events that the score is about; null where the platform does not say. */
  eventCount: number | null
}

/** What the platform thinks of the identifiers that it receives. */
export interface MatchQuality {
  kind: 'quality'
  events: EventQuality[]
  /** The whole body, as it came. */
  answer: Record<string, unknown>
}
