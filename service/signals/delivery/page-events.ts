import { isRecognized } from '@signalbox/contract/closed-set.ts'
import { findSharesPageIds } from '../access/tracker-store.ts'
import { isOfPage } from '../events/event-columns.ts'
import type { StoredEvent } from '../events/event-store.ts'
import { findSecretNames } from '../events/page-match-store.ts'
import type { OriginalEvent } from '../platforms/platform.ts'
import type { ClaimedBatch, ClaimedDelivery } from './claim-store.ts'
import type { BatchContext } from './delivery-context.ts'
import { findMatches, type Match, type MatchedEvent, releaseHeld } from './page-event-store.ts'
import { DEDUPLICATION_MILLISECONDS } from './replay-store.ts'
import { listSameNames, platformNameOf } from './routing.ts'

/**
 * Stands before the ID of a page's event where pages do not share IDs with the tracker secret, so
 * that a platform never takes it for the secret's event.
 */
export const PAGE_ID_PREFIX = 'p.'

/** What the rules for events of pages decide about a delivery. */
export type PageDecision =
  | { kind: 'send'; hasIdPrefix: boolean }
  | { kind: 'hold'; until: Date }
  | { kind: 'duplicate' }

export interface PageRules {
  /** No event waits beyond `latestSend`. */
  decide: (delivery: ClaimedDelivery, event: StoredEvent, latestSend: Date) => PageDecision
  /** How the parent of an event is named to the platform. */
  nameParent: (event: StoredEvent, parent: StoredEvent, original: OriginalEvent) => OriginalEvent
  /** Deliveries of the secret that the platform may drop: a page sent their ID first. */
  possibleDuplicates: ReadonlySet<number>
}

interface RuleInput {
  batch: ClaimedBatch
  parents: ReadonlyMap<StoredEvent, StoredEvent>
  at: Date
}

/**
 * Anyone can send events with the key of a page. So where the tracker secret sends events of
 * a name too, its event is the one that counts: the page's waits for it, is left out when it is
 * there, and goes alone after the wait. Everything is decided by what is stored when an event is
 * sent, so the order of arrival does not matter.
 */
export async function loadPageRules(context: BatchContext, input: RuleInput): Promise<PageRules> {
  const { database, pageHoldSeconds } = context
  const { batch, parents, at } = input
  const { trackerId } = batch.destination
  const claimed = [...batch.events].map(([id, event]) => ({ id, event }))
  const namesOf = createNameReader(context, batch)
  const names = listPageNames({ batch, parents }, namesOf)
  const secretNames =
    names.size === 0 ? names : await findSecretNames(database, { trackerId, names, at })
  const hasPageParts = claimed.some(({ event }) => isOfPage(event)) || names.size > 0
  const sharesIds = !hasPageParts || (await findSharesPageIds(database, trackerId)) !== false
  const isOfSecretName = (event: StoredEvent) => namesOf(event).some(name => secretNames.has(name))
  const withSecretEvent = await findReplaced(context, batch, { isOfSecretName, namesOf })
  const possibleDuplicates = await applySecretEvents(context, input, namesOf)
  return {
    decide(delivery, event, latestSend) {
      if (!isOfPage(event) || !isOfSecretName(event)) {
        return { kind: 'send', hasIdPrefix: delivery.hasIdPrefix }
      }
      if (withSecretEvent.has(delivery.id)) return { kind: 'duplicate' }
      const holdEndsAt = event.createdAt.getTime() + pageHoldSeconds * 1_000
      const until = new Date(Math.min(holdEndsAt, latestSend.getTime()))
      // What was sent once keeps its ID, and has nothing to wait for.
      if (wasSent(delivery)) return { kind: 'send', hasIdPrefix: delivery.hasIdPrefix }
      if (at < until) return { kind: 'hold', until }
      return { kind: 'send', hasIdPrefix: delivery.hasIdPrefix || !sharesIds }
    },
    nameParent(event, parent, original) {
      const isForeign = !isOfPage(parent) && isOfPage(event)
      const hasPrefix = !sharesIds && (isForeign || (isOfPage(parent) && isOfSecretName(parent)))
      return hasPrefix ? addIdPrefix(original) : original
    },
    possibleDuplicates,
  }
}

/** The names that the platform takes for that of an event. */
type NamesOf = (event: StoredEvent) => readonly string[]

function createNameReader({ platform }: BatchContext, { destination }: ClaimedBatch): NamesOf {
  const known = new Map<string, readonly string[]>()
  return event => {
    const { eventName } = event
    const platformName = platformNameOf(event, destination.id)
    const key = `${eventName}\n${platformName}`
    const names =
      known.get(key) ??
      listSameNames({ platform, routing: destination.routing }, { eventName, platformName })
    known.set(key, names)
    return names
  }
}

/** The names of events of pages that are sent, or named as parents. */
function listPageNames(
  { batch: { events }, parents }: Pick<RuleInput, 'batch' | 'parents'>,
  namesOf: NamesOf,
): ReadonlySet<string> {
  const related = [...events.values(), ...parents.values()]
  return new Set(related.filter(isOfPage).flatMap(namesOf))
}

/** Events with the delivery that each is of, once under each of their names. */
function listNamed(
  events: readonly (readonly [number, StoredEvent])[],
  namesOf: NamesOf,
): { deliveryId: number; event: MatchedEvent; given: StoredEvent }[] {
  return events.flatMap(([deliveryId, given]) => {
    const { eventId, orderId } = given
    return namesOf(given).map(eventName => {
      return { deliveryId, given, event: { eventId, orderId, eventName } }
    })
  })
}

/** The IDs by which the platform would know the event, with the prefix. */
export function addIdPrefix<Ids extends { eventId: string; orderId: string | null }>(
  ids: Ids,
): Ids {
  const { eventId, orderId } = ids
  return {
    ...ids,
    eventId: `${PAGE_ID_PREFIX}${eventId}`,
    orderId: orderId === null ? null : `${PAGE_ID_PREFIX}${orderId}`,
  }
}

/** A request with it was answered; a claim that ended without a request counts nothing. */
function wasSent({ attemptCount, wasAnswered }: ClaimedDelivery): boolean {
  return wasAnswered && attemptCount > 1
}

/** The deliveries of pages whose event the tracker secret sent to the same destination. */
async function findReplaced(
  { database }: BatchContext,
  { destination, events, isTest }: ClaimedBatch,
  {
    isOfSecretName,
    namesOf,
  }: { isOfSecretName: (event: StoredEvent) => boolean; namesOf: NamesOf },
): Promise<ReadonlySet<number>> {
  const { trackerId, id: destinationId } = destination
  const ofPages = listNamed(
    [...events].filter(([, event]) => isOfPage(event) && isOfSecretName(event)),
    namesOf,
  )
  const matches = await findMatches(database, {
    trackerId,
    destinationId,
    space: 'secret',
    events: ofPages.map(({ event }) => event),
  })
  const replacing = matches.filter(match => match.isTest === isTest && replacesPage(match))
  return new Set(replacing.map(({ index }) => ofPages[index]?.deliveryId as number))
}

/** It is sent, or was; what was skipped or has expired takes the place of nothing. */
export function replacesPage({ status }: Match): boolean {
  return isRecognized(status) && status !== 'expired' && !status.startsWith('skipped:')
}

/**
 * Looks for the pages' events beside those of the tracker secret: held ones are due now and end as
 * duplicates. Returns the deliveries of the secret that may be dropped, because a page sent their
 * ID first with another value.
 */
async function applySecretEvents(
  { database, pageHoldSeconds }: BatchContext,
  { batch: { destination, events, isTest }, at }: RuleInput,
  namesOf: NamesOf,
): Promise<ReadonlySet<number>> {
  const { trackerId, id: destinationId } = destination
  const ofSecret = listNamed(
    [...events].filter(([, event]) => !isOfPage(event)),
    namesOf,
  )
  const found = await findMatches(database, {
    trackerId,
    destinationId,
    space: 'publishable',
    events: ofSecret.map(({ event }) => event),
  })
  const matches = found.filter(match => match.isTest === isTest)
  const isHeld = ({ status, statusReason }: Match) =>
    status === 'queued' && statusReason === 'held_for_secret'
  await releaseHeld(database, { trackerId, held: matches.filter(isHeld), at })
  const holdEndsAt = ({ createdAt }: Match) => createdAt.getTime() + pageHoldSeconds * 1_000
  const duplicates = matches.filter(match => {
    // A worker that has it may only look whether it must wait.
    if (match.status === 'sent' && at.getTime() < holdEndsAt(match)) return false
    const event = ofSecret[match.index]?.given
    return event !== undefined && mayReplaceAtPlatform(match, { event, sentAt: at })
  })
  return new Set(duplicates.map(({ index }) => ofSecret[index]?.deliveryId as number))
}

/**
 * Whether a platform may have kept the page's event and dropped the secret's, which it received at
 * `sentAt`: it has the same ID, and another value.
 */
export function mayReplaceAtPlatform(
  page: Pick<Match, 'firstSentAt' | 'hasIdPrefix' | 'eventId'> & Value,
  { event, sentAt }: { event: Pick<Match, 'eventId'> & Value; sentAt: Date },
): boolean {
  const { firstSentAt, hasIdPrefix, eventId } = page
  if (firstSentAt === null || hasIdPrefix || eventId !== event.eventId) return false
  const milliseconds = sentAt.getTime() - firstSentAt.getTime()
  if (milliseconds < 0 || milliseconds > DEDUPLICATION_MILLISECONDS) return false
  return !haveSameValue(page, event)
}

type Value = Pick<Match, 'valueAmount' | 'valueCurrency'>

function haveSameValue(one: Value, other: Value): boolean {
  const isSameCurrency = one.valueCurrency === other.valueCurrency
  return isSameCurrency && trimZeros(one.valueAmount) === trimZeros(other.valueAmount)
}

/** Decimal text without the zeros that change nothing. */
function trimZeros(amount: string | null): string | null {
  if (amount === null) return null
  const [whole = '', fraction = ''] = amount.split('.')
  return `${whole.replace(/^(-?)0+(?=\d)/, '$1')}.${fraction.replace(/0+$/, '')}`
}
