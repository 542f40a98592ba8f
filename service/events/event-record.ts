import type { EventClass, MeasurementClass } from '@signalbox/contract/events.ts'
import type { EventSpace } from './event-ref.ts'
import { digestVisitorId, listWithdrawalKeysOfDigest } from './person-identifiers.ts'

/** How much of the digest of a body is kept: what tells bodies apart without fail. */
export const BODY_DIGEST_BYTES = 16

/** An event as the ledger keeps it: no identity, money as text, decisions beside the facts. */
export interface EventRecord {
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
  session: SessionUpdate | null
  /** A withdrawal of consent: the keys of the person who withdrew. Empty for other events. */
  withdrawnKeys: string[]
  /**
   * The entry was made as if none of these keys of the person had withdrawn consent. When one has,
   * it is not stored but reported, to be made again. Empty when the withdrawal was looked up.
   */
  assumedNotWithdrawn: string[]
  /**
   * The same for erasure: the entry was made as if no one of the tracker had ever been erased, or
   * none of these keyed digests (hexadecimal). Left out of an entry that names no one.
   */
  assumedNotErased?: 'all' | readonly string[]
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
interface SessionUpdate {
  visitorId: string
  landingSource: string | null
  clickIds: Record<string, string>
}

/**
 * An event of an erased person as the ledger may keep it: that it happened, when, for how much and
 * by which decision. `eraseEvents` in erase-store.ts leaves the same of an event that is there
 * already. A withdrawal stays in force under the person's other keys.
 *
 * The digest of the body goes, since whoever knows the rest of the body could try addresses against
 * it.
 */
export function stripIdentity(entry: EventRecord, digests: ReadonlySet<string>): EventRecord {
  const forgotten = new Set([...digests].flatMap(listWithdrawalKeysOfDigest))
  const isForgotten = (key: string) => forgotten.has(key) || digests.has(digestVisitorId(key))
  return {
    ...entry,
    bodyDigest: Buffer.alloc(0),
    payload: null,
    session: null,
    withdrawnKeys: entry.withdrawnKeys.filter(key => !isForgotten(key)),
  }
}
