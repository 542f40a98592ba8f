import type {
  CountedDay,
  CountedSource,
  DayCounts,
  MatchQuality,
  ReportTarget,
  Unavailable,
} from './platform-reports.ts'
import type { SendAnswer, SendError } from './send-outcome.ts'

/** An event as an adapter needs it: identity only as digests, money as text. */
export interface OutboundEvent {
  eventId: string
  eventName: string
  /** Never later than the moment of receipt: a clock that runs ahead is clamped at acceptance. */
  eventTime: Date
  actionSource: string
  eventSource: string | null
  /** Platform key -> lower-case SHA-256 digests. */
  digests: Record<string, string[]>
  /** Identifiers that are never hashed: address, user agent, click and browser ids. */
  plain: Record<string, string>
  valueAmount: string | null
  valueCurrency: string | null
  orderId: string | null
  contents: unknown[]
  numItems: number | null
  /** Counted, and never used to choose who sees which advertisement: a test purchase. */
  optOut: boolean
}

/** Where and as whom to send. The access token lives in memory only while a batch is sent. */
export interface PlatformTarget {
  datasetId: string
  accessToken: string
  testEventCode: string | null
}

/** One advertising platform. Adapters know the wire; they know no store and no consent. */
export interface Platform {
  /** Events that one request may carry. */
  readonly batchMax: number
  /** How long after it happened the platform still takes an event. */
  windowSeconds(actionSource: string): number
  /** Why the platform would refuse this event, before it costs its batch; null when fine. */
  findFault(event: OutboundEvent): SendError | null
  /** Sends one batch. Never throws: what goes wrong on the way is an outcome. */
  send(target: PlatformTarget, events: readonly OutboundEvent[]): Promise<SendAnswer>
  /** The platform's own counts of a span, by event name. Never throws. */
  readDayCounts(
    target: ReportTarget,
    day: CountedDay,
    source: CountedSource,
  ): Promise<DayCounts | Unavailable>
  /** The platform's view of the identifiers that it receives, by event name. Never throws. */
  readMatchQuality(target: ReportTarget): Promise<MatchQuality | Unavailable>
}
