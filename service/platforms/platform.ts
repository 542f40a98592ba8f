import type { DroppedField } from '../identity/dropped-fields.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'

/** An event as an adapter needs it: identity only as digests, money as text. */
export interface OutboundEvent {
  eventId: string
  eventName: string
  /** Never later than the moment of receipt: a clock that runs ahead is clamped at acceptance. */
  eventTime: Date
  actionSource: string
  eventSource: string | null
  /** The page that led to the page of the event, without identifiers. */
  referrer: string | null
  /** Platform key -> lower-case SHA-256 digests. */
  digests: Record<string, string[]>
  /** Identifiers that are never hashed: address, user agent, click and browser ids. */
  plain: Record<string, string>
  valueAmount: string | null
  valueCurrency: string | null
  orderId: string | null
  contents: unknown[]
  numItems: number | null
  commerce: CommerceDetails
  /**
   * Counted, and never used to choose who sees which advertisement: a test purchase, or an event
   * whose caller says so.
   */
  optOut: boolean
  /** Restrictions by law of the person's place; null when the caller says nothing about them. */
  dataProcessing: DataProcessing | null
  /** The app and its device. */
  appData: Record<string, unknown> | null
  messagingChannel: string | null
  /** The device's permission for tracking; null when unknown. */
  advertiserTracking: boolean | null
  /** What the customer is to the business. */
  customerSegment: string | null
  /** The event that this delayed one belongs to. */
  originalEvent: OriginalEvent | null
}

/** What an order says besides its value and contents. Money is decimal text. */
export interface CommerceDetails {
  contentType: string | null
  contentIds: (string | number)[]
  contentName: string | null
  contentCategory: string | null
  searchString: string | null
  status: string | boolean | null
  predictedLifetimeValue: string | null
  netRevenue: string | null
  deliveryCategory: string | null
  /** The caller's own properties; none has the name of a standard one. */
  customProperties: Record<string, unknown>
}

/** As the caller sent it: an empty list of options says that nothing is restricted. */
export interface DataProcessing {
  options: string[] | null
  country: number | null
  state: number | null
}

export interface OriginalEvent {
  eventId: string
  eventName: string
  eventTime: Date
  orderId: string | null
}

/** Where a destination sends, as its platform reads it. The store and the wire hold it as JSON. */
export type TargetConfig = Record<string, unknown>

/** Where to send, and with which token, which is in memory only while a request is made. */
export interface Credentials<Target> {
  target: Target
  accessToken: string
}

/** A connection for one batch: all of its events are test events, or none is. */
export interface Connection<Target> extends Credentials<Target> {
  /** The code that marks test events; null for live events. */
  testCode: string | null
}

/**
 * One advertising platform, a plug-in: `registry.ts` has one line for each. A plug-in knows the
 * wire of its platform; it knows no store and no consent. `Target` is its own type. The core passes
 * a target only to the platform that parsed it.
 */
export interface Platform<Target = unknown> {
  /** The name under which destinations are stored, and their `type` in reads. */
  readonly name: string
  /** Events that one request may carry. */
  readonly batchMax: number
  /** Reads the `config` of a destination; null when it is no target of this platform. */
  parseTarget(config: TargetConfig): Target | null
  /** How long after it happened the platform still takes an event. */
  windowSeconds(actionSource: string): number
  /** Makes what the platform matches people by. Nothing raw may be left in the answer. */
  normalizeIdentity(submitted: SubmittedIdentity): AcceptedIdentity
  /** Identifiers to add from the click IDs of an event and of its visitor's session. */
  joinClickIds(seen: SeenClickIds): Record<string, string>
  /** Whether the platform would look for a person at all, as far as the event alone tells. */
  canMatchPerson(identity: PlatformIdentity, clickIds: Record<string, string>): boolean
  /** Why the platform would refuse this event, before it costs its batch; null when fine. */
  validateEvent(event: OutboundEvent): SendError | null
  /** Sends one batch. Never throws: what goes wrong on the way is an outcome. */
  send(connection: Connection<Target>, events: readonly OutboundEvent[]): Promise<SendAnswer>
  /** The platform's own counts of a span, by event name. Never throws. */
  readDayCounts(
    credentials: Credentials<Target>,
    day: CountedDay,
    source: CountedSource,
  ): Promise<DayCounts | Unavailable>
  /** The platform's view of the identifiers that it receives, by event name. Never throws. */
  readMatchQuality(credentials: Credentials<Target>): Promise<MatchQuality | Unavailable>
  /** The identifiers that help the match, the heaviest first, for advice. */
  readonly matchKeys: readonly MatchKey[]
  /** A new code for test events, for a destination that has none. */
  createTestCode(): string
  /** A new destination and token at the platform's simulator. */
  createSimulatorDestination(): { config: TargetConfig; accessToken: string }
}

/** Identity as a caller sent it. It lives only while the request is read. */
export interface SubmittedIdentity {
  userData: Record<string, unknown> | undefined
  /** Known click IDs, each in its form. */
  clickIds: Record<string, string>
  /** The URL of the event as submitted. */
  eventSource: string | undefined
  observedAt: Date
}

/** Identity as it may be stored. */
export interface AcceptedIdentity extends PlatformIdentity {
  /** The click IDs of the event, with what the platform makes of them. */
  clickIds: Record<string, string>
  /** What was left out and why, never a value. */
  dropped: DroppedField[]
}

/** Click IDs as they were stored; none where consent does not allow the join. */
export interface SeenClickIds {
  /** Those of the event. */
  own: Record<string, string>
  /** Those that the visitor's session saw with consent. */
  seen: Record<string, string>
  eventTime: Date
}

/**
 * What a platform's answer to one request means for the events in it. A refusal is an outcome,
 * not an exception (house rule 9).
 * - accepted: the platform has every event.
 * - retry: it may work later; nothing is wrong with the events.
 * - throttle: too many requests.
 * - auth, config: the destination's credential or set-up is refused; the events are not to blame.
 * - permanent: the platform refuses the content. One bad event fails a whole batch, so its halves
 *   may still go through.
 * - unknown: no usable answer; the platform may or may not have the events. Retried with the same
 *   id and time, which the platform deduplicates.
 */
export type SendOutcome =
  | 'accepted'
  | 'retry'
  | 'throttle'
  | 'auth'
  | 'config'
  | 'permanent'
  | 'unknown'

/** Why it was not accepted, in the platform's words. Shown to the tracker as `last_error`. */
export interface SendError {
  class: Exclude<SendOutcome, 'accepted'> | 'local'
  code: number | null
  subcode: number | null
  message: string
  user_title: string | null
  user_message: string | null
  http_status: number | null
}

/** One request and its answer, ready to be kept. It holds no credential. */
export interface SendAnswer {
  outcome: SendOutcome
  /** How long the platform asks us to stay away, in seconds; 0 when it asks for nothing. */
  waitSeconds: number
  httpStatus: number | null
  traceId: string | null
  answer: Record<string, unknown> | null
  error: SendError | null
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
 * - unsupported: the platform has no such report.
 */
export type UnavailableCause =
  | 'permission'
  | 'credential'
  | 'throttled'
  | 'out_of_reach'
  | 'out_of_range'
  | 'unreadable'
  | 'unsupported'

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
  isTruncated: boolean
}

/** An identifier that callers may send. */
export interface MatchKey {
  key: string
  /** How a shop sends it. */
  from: string
  /** No shop has it of every visitor: most never say who they are. */
  enoughPercent: number
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
