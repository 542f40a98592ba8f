import type { SendOutcome, UnavailableCause } from '@signalbox/contract/reasons.ts'
import type { PlatformConsentNeeds } from '../consent/consent-statement.ts'
import type { ContentItem } from '../events/order-contents.ts'
import type { DroppedField } from '../identity/dropped-fields.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import type { Credential, CredentialForm, TokenGrant } from './credentials.ts'
import type {
  CountedDay,
  CountedSource,
  DayCounts,
  MatchKey,
  MatchQuality,
  PlatformCounting,
} from './platform-reports.ts'
import type { Erasure, ReceiptResult, SendAnswer, SendError, Unavailable } from './send-answer.ts'

export type * from './platform-reports.ts'
export type * from './send-answer.ts'
export type { SendOutcome, UnavailableCause }

/** An event as an adapter needs it: identity only as digests, money as text. */
export interface OutboundEvent {
  eventId: string
  eventName: string
  /** The platform's name for the event, by the map of the destination; else `eventName`. */
  platformName: string
  /** Never later than the time of receipt: acceptance clamps the time of a fast clock. */
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
  /** Each has an `id`. */
  contents: ContentItem[]
  numItems: number | null
  commerce: CommerceDetails
  /**
   * Whether the platform may only count the event and not use it to target ads: a test purchase, or
   * an event with `opt_out`.
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
  /** What the person allows the platform to use the event for. */
  adConsent: AdConsent
  /** The event that this delayed one belongs to. */
  originalEvent: OriginalEvent | null
  /** Whether it may change the value of an earlier event. A page's may not: anyone can forge it. */
  mayRestateValue: boolean
}

/** In the words of Google's Consent Mode, which other platforms take, too. */
export interface AdConsent {
  /** Always true: an event that may not be sent to a platform is not. */
  userData: true
  /** False: the platform may count the event, and not use it for personalized ads. */
  personalization: boolean
}

/** What an order says besides its value and contents. Money is decimal text. */
export interface CommerceDetails {
  /** What the IDs name; empty when the caller does not say. */
  contentTypes: string[]
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

/** The target of a destination, in its platform's own form. Stored and sent as JSON. */
export type TargetConfig = Record<string, unknown>

/** Why nothing is sent when `parseTarget` returns null. */
export const INVALID_CONFIGURATION =
  'The configuration of the destination does not fit its platform: enter it again.'

/** A member of a target that a person enters as text. */
export interface TargetField {
  /** Its name in `TargetConfig`. */
  name: string
  label: string
  /** Where to find the value at the platform. */
  hint: string
  optional?: boolean
  /** Whether the text may be its value, without white space around it. */
  isValid(text: string): boolean
}

/** A target and its token. The token is in memory only during a request. */
export interface PlatformCredentials<Target> {
  target: Target
  /** The bearer token, or the access token that was minted from another credential. */
  accessToken: string
}

/** A target and its credential, before a request. */
export interface CredentialOwner<Target> {
  target: Target
  credential: Credential
}

/** Requests that the destinations with one key share, over all processes. */
export interface RequestBudget {
  /** Such as the Cloud project of the credential. Stored in clear: no secret. */
  key: string
  perMinute: number
  perDay: number
}

/** The map from our event names to the platform's own, which a destination needs. */
export interface ConversionTargets {
  label: string
  /** Where to find the platform's names. */
  hint: string
  /** What one of them looks like, as the source of a regular expression. */
  pattern: string
}

/**
 * How a platform reads the names of events. It compares what it read, so two names of ours with one
 * result are copies of each other under one ID.
 */
export interface EventNames {
  /** Every word of its own, and of ours, that it reads as another one. */
  readonly known: readonly string[]
  /** What it reads; null for a name that it does not take. */
  read(name: string): string | null
}

/** A connection for one batch, whose events are all live events or all test events. */
export interface Connection<Target> extends PlatformCredentials<Target> {
  /** The code that marks test events; null for live events. */
  testCode: string | null
}

/**
 * One advertising platform, as a plug-in: `registry.ts` has one line for each. A plug-in knows the
 * API of its platform, but not the store. A `Target` is passed only to the one that parsed it.
 */
export interface Platform<Target = unknown> {
  /** The name under which destinations are stored, and their `type` in reads. */
  readonly name: string
  /**
   * One or two small letters that mark a stored identity as this platform's. Rows keep it, so it
   * never changes.
   */
  readonly identityMark: string
  /** Its name for people. */
  readonly label: string
  /** The members of a destination's `config`, for the form that creates one. */
  readonly targetFields: readonly TargetField[]
  /** What may be entered as a credential, the recommended kind first. */
  readonly credentialForms: readonly CredentialForm[]
  /** Where access tokens are minted, if a kind of credential is not sent as it is. */
  readonly tokenGrant?: TokenGrant
  /** Present if each event needs a name of the platform's own; without one it is not sent. */
  readonly conversionTargets?: ConversionTargets
  /** Whether it has a name for this event; if not, it is sent only with an entry in the map. */
  hasNameFor?(eventName: string): boolean
  /** Left out: it compares the names as they are. */
  readonly eventNames?: EventNames
  /** Present if an event sent again gets the new value. The reasons say that it was known. */
  readonly restatesValues?: { knownReasons: readonly string[] }
  /** Members of the queries of its URLs that are secret: never in a log, trace or error. */
  readonly secretQueryMembers?: readonly string[]
  /** What consent it needs. */
  readonly consentNeeds: PlatformConsentNeeds
  /** The most events in one request. */
  readonly batchMax: number
  /** Parses the `config` of a destination; null if it is not valid for this platform. */
  parseTarget(config: TargetConfig): Target | null
  /** The maximum age of an event that the platform accepts. */
  windowSeconds(actionSource: string): number
  /** Normalizes and hashes identifiers for matching. The result contains no raw values. */
  normalizeIdentity(submitted: SubmittedIdentity): AcceptedIdentity
  /** Identifiers derived from the click IDs of an event and of its visitor's session. */
  joinClickIds(seen: SeenClickIds): Record<string, string>
  /** Whether the event has enough identifiers for the platform to attempt a match. */
  canMatchPerson(identity: PlatformIdentity, clickIds: Record<string, string>): boolean
  /** Why the platform would reject this event and its whole batch; null if it would not. */
  validateEvent(event: OutboundEvent): SendError | null
  /** For a platform that takes not every event in every request: the events of each request. */
  splitBatch?(
    events: readonly OutboundEvent[],
    connection: Connection<Target>,
  ): readonly (readonly OutboundEvent[])[]
  /** Whether a copy counts once (the default). If not, no usable answer ends the delivery. */
  isDeduplicated?(event: OutboundEvent): boolean
  /** The body of the request of `send`, for a person to read. It has no credential. */
  buildBody(
    connection: Pick<Connection<Target>, 'target' | 'testCode'>,
    events: readonly OutboundEvent[],
  ): object
  /** Sends one batch. Never throws: network errors are outcomes. */
  send(connection: Connection<Target>, events: readonly OutboundEvent[]): Promise<SendAnswer>
  /** Tells the platform of an erased person of whom it was sent events. Never throws. */
  sendErasure?(credentials: PlatformCredentials<Target>, erasure: Erasure): Promise<SendAnswer>
  /** Reads what the platform says about a request that it took earlier. Never throws. */
  readReceipt?(
    credentials: PlatformCredentials<Target>,
    receiptId: string,
  ): Promise<ReceiptResult | Unavailable>
  /** The limit of requests that this destination shares with others; null without one. */
  requestBudget?(owner: CredentialOwner<Target>): RequestBudget | null
  /** What its count is called and means; left out: it counts events by day and name. */
  readonly counting?: PlatformCounting
  /** Reads the platform's counts for a time range, by event name. Never throws. */
  readDayCounts(
    credentials: PlatformCredentials<Target>,
    day: CountedDay,
    source: CountedSource,
  ): Promise<DayCounts | Unavailable>
  /** Reads the platform's match quality, by event name. Never throws. */
  readMatchQuality(credentials: PlatformCredentials<Target>): Promise<MatchQuality | Unavailable>
  /** The identifiers that improve matching, most important first, for advice. */
  readonly matchKeys: readonly MatchKey[]
  /** Creates a test event code for a destination that has none. */
  createTestCode(): string
  /** Creates a destination for the platform's simulator; the credential as it is entered. */
  createSimulatorDestination(): { config: TargetConfig; credential: string }
}

/** Identity as a caller sent it. It is in memory only while the request is processed. */
export interface SubmittedIdentity {
  userData: Record<string, unknown> | undefined
  /** Known click IDs, in valid form. */
  clickIds: Record<string, string>
  /** The URL of the event as submitted. */
  eventSource: string | undefined
  /** When it happened, as the caller says; up to five minutes after `observedAt`. */
  eventTime: Date
  /** When the event was received. */
  observedAt: Date
}

/** Identity in the form that is stored. */
export interface AcceptedIdentity extends PlatformIdentity {
  /** The click IDs of the event, and those that the platform derives from them. */
  clickIds: Record<string, string>
  /** Which fields were dropped and why, without their values. */
  dropped: DroppedField[]
}

/** Stored click IDs; empty where consent does not allow the join. */
export interface SeenClickIds {
  /** Click IDs of the event. */
  own: Record<string, string>
  /** Click IDs that the visitor's session collected with consent, the most trusted first. */
  seen: readonly Record<string, string>[]
  eventTime: Date
}
