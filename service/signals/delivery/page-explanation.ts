import { isOfPage } from '../events/event-columns.ts'
import type { StoredEvent } from '../events/event-store.ts'
import type { ClickConflict } from '../identity/click-ids.ts'
import type { StoredDelivery } from './delivery-store.ts'
import { findEventClickConflict } from './outbound-event.ts'
import type { Match } from './page-event-store.ts'
import { mayReplaceAtPlatform, PAGE_ID_PREFIX, replacesPage } from './page-events.ts'

interface MatchContext {
  /** The time of the read. */
  at: Date
  /** Deliveries of the same event in the other space. */
  matches?: readonly Match[]
}

/** Null for a delivery that waits for nothing of the tracker secret. */
export function heldSentence(
  { status, statusReason, nextAttemptAt, destinationId }: StoredDelivery,
  { at, matches = [] }: MatchContext,
): string | null {
  const isHeld = status === 'queued' && statusReason === 'held_for_secret'
  if (!isHeld || nextAttemptAt === null || nextAttemptAt <= at) return null
  const until = nextAttemptAt.toISOString()
  const replacing = matches.find(
    match => match.destinationId === destinationId && replacesPage(match),
  )
  if (replacing) {
    return (
      `It will not be sent: the tracker secret sent the same event (${replacing.eventId}), which ` +
      `counts. Its final status follows by ${until}.`
    )
  }
  return (
    `It waits until ${until}, because the tracker secret sends events of this name, or of one ` +
    'that the platform takes for it: if one with the same event ID or order ID arrives by then, ' +
    'that one is sent instead.'
  )
}

/** The reason of `skipped:duplicate`; the event of the secret may have expired since. */
export function replacedSentence(delivery: StoredDelivery, { matches = [] }: MatchContext): string {
  const replacing = matches.find(match => isAtSameDestination(match, delivery))
  const id = replacing ? ` (${replacing.eventId})` : ''
  return (
    `the tracker secret sent the same event${id} to this destination, ` +
    'and only that one counts.'
  )
}

/** Both events may be accepted, and yet the platform keeps only the one that it received first. */
export function duplicateSentences(
  delivery: StoredDelivery,
  event: StoredEvent,
  { matches = [] }: MatchContext,
): string[] {
  const others = matches.filter(match => isAtSameDestination(match, delivery))
  const sentences = others.flatMap(other =>
    isOfPage(event)
      ? explainKept(delivery, event, other)
      : explainDropped(delivery.firstSentAt, event, other),
  )
  return sentences.slice(0, 1)
}

/** About the event of the secret, when the one of a page was sent first. */
function explainDropped(sentAt: Date | null, event: StoredEvent, page: Match): string[] {
  if (sentAt === null || !mayReplaceAtPlatform(page, { event, sentAt })) return []
  return [
    'The platform may have dropped it as a duplicate: a page sent an event with the same name ' +
      `and ID and another value (${formatValue(page)}) first, at ` +
      `${page.firstSentAt?.toISOString()}.`,
  ]
}

/** About the event of a page, when that of the secret was sent afterwards. */
function explainKept(
  { firstSentAt, hasIdPrefix }: StoredDelivery,
  { eventId, valueAmount, valueCurrency }: StoredEvent,
  secret: Match,
): string[] {
  const sentAt = secret.firstSentAt
  const page = { firstSentAt, hasIdPrefix, eventId, valueAmount, valueCurrency }
  if (sentAt === null || !mayReplaceAtPlatform(page, { event: secret, sentAt })) return []
  return [
    `The tracker secret sent the same event with another value (${formatValue(secret)}) ` +
      `afterwards, at ${sentAt.toISOString()}: the platform may have kept this one and dropped ` +
      'that one as a duplicate.',
  ]
}

function isAtSameDestination(match: Match, { destinationId, isTest }: StoredDelivery): boolean {
  return match.destinationId === destinationId && match.isTest === isTest
}

function formatValue({ valueAmount, valueCurrency }: Match): string {
  return valueAmount === null ? 'none' : `${valueAmount} ${valueCurrency ?? ''}`.trim()
}

/** Empty for a delivery that is sent under the ID of its event. */
export function prefixSentence(
  { hasIdPrefix }: StoredDelivery,
  { eventId }: Pick<StoredEvent, 'eventId'>,
): string {
  if (!hasIdPrefix) return ''
  return (
    `The platform knows it as ${PAGE_ID_PREFIX}${eventId}, because pages of this tracker do not ` +
    'share their IDs.'
  )
}

const CLICK_CONFLICTS: Record<ClickConflict, string> = {
  tracker_secret_used:
    'A page named another click or browser ID for this visitor, which is ignored: the one that ' +
    'came with the tracker secret is used.',
  first_page_used:
    'A page named another click or browser ID for this visitor, which is ignored: the first one ' +
    'of a page is used, because others may guess this visitor_id.',
}

/** Empty unless a page named another click ID than the one that is used. */
export function clickConflictSentence(event: StoredEvent): string {
  const conflict = findEventClickConflict(event)
  return conflict === null ? '' : CLICK_CONFLICTS[conflict]
}
