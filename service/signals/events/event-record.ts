import type {
  AttributionJoin,
  ConsentBasis,
  EnforcementScope,
  EventClass,
  MeasurementClass,
} from '@signalbox/contract/events.ts'
import type { LookupDigests } from '../identity/lookup-digests.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import { eraseTokens } from './free-text.ts'
import { listVisitorDigests, listWithdrawalKeysOfDigest } from './person-identifiers.ts'

/**
 * Event IDs of secret keys and of publishable keys are separate: a web page can never claim the ID
 * of an event that the shop's back end sends.
 */
export type EventSpace = 'secret' | 'publishable'

/** The value in the column `space`. */
export const SPACE_NUMBERS: Record<EventSpace, number> = { secret: 0, publishable: 1 }

/** The column value of an event from before there were spaces: it occupies its ID in both. */
export const BOTH_SPACES = 2

/** What events with the same name and order have in common; `order_keys` has its digest. */
export function toOrderKey(eventName: string, orderId: string): string {
  return `${eventName}\n${orderId}`
}

/** The events that an order has. Their names are those of the platforms, and case counts. */
export const PURCHASE = 'Purchase'
export const REFUND = 'Refund'

/**
 * What the refunds of one event have in common that name it as their parent. A lookup compares the
 * members of the events themselves, too, so an order ID that looks like it does no harm.
 */
export function toRefundKey(parentEventId: string): string {
  return toOrderKey(REFUND, `\n${parentEventId}`)
}

/** Bytes of the body digest that are stored: enough to tell bodies apart. */
export const BODY_DIGEST_BYTES = 16

/** An event as it is stored: without identity, money as text, decisions next to the facts. */
export interface EventRecord {
  trackerId: string
  eventId: string
  space: EventSpace
  createdAt: Date
  eventTime: Date
  eventName: string
  eventClass: EventClass
  actionSource: string
  consentBasis: ConsentBasis
  measurementClass: MeasurementClass
  attributionJoin: AttributionJoin
  enforcementScope: EnforcementScope
  consentNormalizationVersion: string
  /** When the consent that allows delivery was given; null when unknown. */
  consentCapturedAt: Date | null
  /** The URL of the page, without query and fragment. */
  eventSource: string | null
  parentEventId: string | null
  orderId: string | null
  /** See `toOrderKey`; absent from an event that is never looked up by its order. */
  orderKey?: string | null
  /** See `toRefundKey`; absent from all events but refunds that name their parent. */
  refundKey?: string | null
  valueAmount: string | null
  valueCurrency: string | null
  /** JSON text. */
  valueData: string | null
  consent: string | null
  notes: EventNotes
  /** SHA-256 of the canonical body, to detect a different body under the same ID. */
  bodyDigest: Buffer
  payload: IdentityPayload | null
  session: SessionUpdate | null
  /** The keys of the person who withdraws consent. Empty for other events. */
  withdrawnKeys: readonly string[]
  /**
   * The event assumes that the tracker has no withdrawals, or that no consent was withdrawn under
   * these keys. When the assumption is wrong, the event is not stored but reported as a conflict.
   * Empty after a lookup of withdrawals.
   */
  assumedNotWithdrawn: 'all' | readonly string[]
  /**
   * The event assumes that the tracker has no erasures, or that none of these keyed digests
   * (hexadecimal) was erased. Absent from an event that names no person.
   */
  assumedNotErased?: 'all' | readonly string[]
}

/** Members that were dropped on receipt, for later questions. Never holds a value. */
export interface EventNotes {
  dropped: { field: string; reason: string }[]
  unknownMembers: string[]
  /** Members in which a token replaced an identifier. */
  redacted: string[]
}

/** The expiring part: digests, IP address, user agent, click IDs, visitor and full page URL. */
export interface IdentityPayload {
  visitorId: string | null
  /** The mark of the platform that `digests` and `plain` are for: the default one at acceptance. */
  identityMark: string
  digests: Record<string, string[]>
  plain: Record<string, string>
  clickIds: Record<string, string>
  /** Absent from payloads whose digests are all for the default platform. */
  lookup?: LookupDigests
  /**
   * Beside the digests of the default platform, those of other platforms that the tracker had a
   * destination of, by the name of the platform.
   */
  platforms?: Record<string, PlatformIdentity>
  /** What platforms call the event, by destination, where it differs from its name. */
  platformNames?: Record<string, string>
  /** The page URL with its query and fragment, if it has any. */
  pageUrl?: string
  details?: EventDetails
}

/**
 * What a caller allows a platform to do with an event, under the names of the API. Stored in the
 * ledger, with the consent of the event: a restriction must stay provable after identity expired.
 */
export interface UseRestrictions {
  /** Count the event, but never use it to choose who sees an advertisement. */
  opt_out?: boolean
  data_processing_options?: string[]
  data_processing_options_country?: number
  data_processing_options_state?: number
}

/**
 * What a platform gets besides identity and order, under the names of the API. It may identify a
 * person or a device, and so is stored in the expiring payload.
 */
export interface EventDetails {
  /** Without identifiers. */
  referrer_url?: string
  app_data?: Record<string, unknown>
  messaging_channel?: string
  advertiser_tracking_enabled?: boolean
  customer_segmentation?: string
}

/** The name of the restrictions in the stored consent. No member of a submitted consent has it. */
export const RESTRICTIONS_MEMBER = 'restrictions'

/** An update of the session of a visitor who gave consent. */
interface SessionUpdate {
  visitorId: string
  landingSource: string | null
  clickIds: Record<string, string>
  /**
   * Written even when it brings nothing new. Set after a lookup of withdrawals: what one of them
   * removes from the session is decided by the time of the last visit. Default: no.
   */
  isDue?: boolean
}

/**
 * The part of an erased person's event that may be stored: what happened, when, the amount and the
 * decision. `eraseEvents` in erase-store.ts reduces a stored event to the same. A withdrawal stays
 * in force under the other keys of the person. The body digest goes too, because an attacker who
 * knows the rest of the body could test email addresses against it, and so do the tokens in text.
 */
export function stripIdentity(event: EventRecord, digests: ReadonlySet<string>): EventRecord {
  const erasedKeys = new Set([...digests].flatMap(listWithdrawalKeysOfDigest))
  const isErased = (key: string) =>
    erasedKeys.has(key) || listVisitorDigests(key).some(digest => digests.has(digest))
  return {
    ...event,
    orderId: event.orderId && eraseTokens(event.orderId),
    valueData: event.valueData && eraseTokens(event.valueData),
    bodyDigest: Buffer.alloc(0),
    payload: null,
    session: null,
    withdrawnKeys: event.withdrawnKeys.filter(key => !isErased(key)),
  }
}
