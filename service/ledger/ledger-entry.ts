import type { EventClass, MeasurementClass } from '@signalbox/contract/events.ts'
import type { EventSpace } from './event-space.ts'

/** How much of the digest of a body is kept: what tells bodies apart without fail. */
export const BODY_DIGEST_BYTES = 16

/** An event as the ledger keeps it: no identity, money as text, decisions beside the facts. */
export interface LedgerEntry {
  trackerId: string
  eventId: string
  space: EventSpace
  createdAt: Date
  eventTime: Date
  eventName: string
  eventClass: EventClass
  actionSource: string
  consentBasis: 'consent' | 'legitimate_interest'
  measurementClass: MeasurementClass
  attributionJoin: 'allowed' | 'none'
  enforcementScope: 'event' | 'ledger'
  consentNormalizationVersion: string
  /** When the consent that allows delivery was given; null when the caller did not say. */
  consentCapturedAt: Date | null
  /** The address of the page, without query and fragment. */
  eventSource: string | null
  parentEventId: string | null
  orderId: string | null
  valueAmount: string | null
  valueCurrency: string | null
  /** JSON text, as it is stored. */
  valueData: string | null
  consent: string | null
  notes: EventNotes
  /** SHA-256 of the canonical body, to notice another body under the same id. */
  bodyDigest: Buffer
  payload: IdentityPayload | null
  session: SessionSighting | null
  /** A withdrawal of consent: the keys of the person who withdrew. Empty for other events. */
  withdrawalOf: string[]
  /**
   * The entry was made as if none of these keys of the person had withdrawn consent. When one has,
   * it is not stored but reported, to be made again. Empty when the withdrawal was looked up.
   */
  presumedConsenting: string[]
  /**
   * The same for erasure: the entry was made as if no one of the tracker had ever been erased, or
   * none of these keyed digests (hexadecimal). Left out of an entry that names no one.
   */
  presumedUnerased?: 'everybody' | readonly string[]
}

/** What was left out on the way in, for later questions. Never holds a value. */
export interface EventNotes {
  dropped: { field: string; reason: string }[]
  unknownMembers: string[]
}

/** What expires: digests, address, user agent, click ids, the visitor, and the page as it was. */
export interface IdentityPayload {
  visitorId: string | null
  digests: Record<string, string[]>
  plain: Record<string, string>
  clickIds: Record<string, string>
  /** The page with its query and fragment, where it has any. */
  pageUrl?: string
}

/** A visitor seen with consent; updates the visitor's session. */
export interface SessionSighting {
  visitorId: string
  landingSource: string | null
  clickIds: Record<string, string>
}

/** The UTC day, which names the partition of the payload. */
export function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10)
}
