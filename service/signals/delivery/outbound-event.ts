import { isObject } from '../../runtime/util/is-object.ts'
import { isStoredPersonalized } from '../consent/platform-decisions.ts'
import { readRestrictions } from '../events/column-encoding.ts'
import { isOfPage } from '../events/event-columns.ts'
import type { StoredEvent } from '../events/event-store.ts'
import { holdsToken, omitTokensOfMembers } from '../events/free-text.ts'
import { type ContentItem, isContentItem, readContentItem } from '../events/order-contents.ts'
import { type ClickConflict, findClickConflict, rankClickIds } from '../identity/click-ids.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import type {
  CommerceDetails,
  DataProcessing,
  OriginalEvent,
  OutboundEvent,
  Platform,
} from '../platforms/platform.ts'
import { addIdPrefix } from './page-events.ts'
import { platformNameOf } from './routing.ts'

export interface OutboundInput {
  event: StoredEvent
  identity: PlatformIdentity
  platform: Pick<Platform, 'name' | 'joinClickIds'>
  /** The parent of the event; null when it has none that may be disclosed. */
  originalEvent: OriginalEvent | null
  /** The destination, whose name for the event is sent. */
  destinationId: string
  /** It is sent under the prefixed ID. */
  hasIdPrefix?: boolean
}

/**
 * A stored event as a platform sends it, without the members in which a token stands for an
 * identifier: it would tell the platform which events are of one person. Where the event has no
 * click ID of its own, the one that the visitor's session saw with consent before it is joined.
 */
export function toOutboundEvent({
  event,
  identity: { digests, plain },
  platform,
  originalEvent,
  destinationId,
  hasIdPrefix = false,
}: OutboundInput): OutboundEvent {
  const value = omitTokensOfMembers(event.valueData ?? {})
  const details = event.payload?.details ?? {}
  const restrictions = readRestrictions(event.consent)
  const ids = { eventId: event.eventId, orderId: omitToken(event.orderId) }
  return {
    ...(hasIdPrefix ? addIdPrefix(ids) : ids),
    eventName: event.eventName,
    platformName: platformNameOf(event, destinationId),
    eventTime: clampEventTime(event),
    actionSource: event.actionSource,
    eventSource: event.eventSource,
    referrer: details.referrer_url ?? null,
    digests,
    plain: { ...plain, ...joinedClickIds(event, platform) },
    valueAmount: event.valueAmount,
    valueCurrency: event.valueCurrency,
    contents: Array.isArray(value.contents) ? selectContentItems(value.contents) : [],
    numItems: typeof value.num_items === 'number' ? value.num_items : null,
    commerce: toCommerceDetails(value),
    optOut: event.eventClass === 'test' || restrictions.opt_out === true,
    dataProcessing: toDataProcessing(restrictions),
    appData: details.app_data ? omitTokensOfApp(details.app_data) : null,
    messagingChannel: details.messaging_channel ?? null,
    advertiserTracking: details.advertiser_tracking_enabled ?? null,
    customerSegment: details.customer_segmentation ?? null,
    adConsent: {
      userData: true,
      personalization: isStoredPersonalized(event.consent, platform.name),
    },
    originalEvent,
    mayRestateValue: !isOfPage(event),
  }
}

/** An order whose ID was an identifier is sent without one. */
function omitToken(orderId: string | null): string | null {
  return orderId === null || holdsToken(orderId) ? null : orderId
}

/** Lists of an app have a meaning for each place, so an empty text takes that of a token. */
function omitTokensOfApp(appData: Record<string, unknown>): Record<string, unknown> {
  const members = Object.entries(appData).map(([name, member]) => {
    if (!Array.isArray(member)) return [name, member]
    return [name, member.map(item => (typeof item === 'string' && holdsToken(item) ? '' : item))]
  })
  return omitTokensOfMembers(Object.fromEntries(members))
}

/** Clamps the time of an event from a clock that runs ahead: platforms reject future events. */
export function clampEventTime({
  eventTime,
  createdAt,
}: Pick<StoredEvent, 'eventTime' | 'createdAt'>): Date {
  return new Date(Math.min(Number(eventTime), Number(createdAt)))
}

/** The items that a platform takes, each with its ID as `id`. */
function selectContentItems(contents: unknown[]): ContentItem[] {
  return contents.map(readContentItem).filter(isContentItem)
}

/** Members are what acceptance validated; events from before it know none of them. */
function toCommerceDetails(value: Record<string, unknown>): CommerceDetails {
  const textOf = (member: unknown) => (typeof member === 'string' ? member : null)
  const { status, content_ids, custom_properties } = value
  return {
    contentTypes: [value.content_type ?? []].flat().filter(one => typeof one === 'string'),
    contentIds: Array.isArray(content_ids) ? content_ids : [],
    contentName: textOf(value.content_name),
    contentCategory: textOf(value.content_category),
    searchString: textOf(value.search_string),
    status: typeof status === 'boolean' ? status : textOf(status),
    predictedLifetimeValue: textOf(value.predicted_ltv),
    netRevenue: textOf(value.net_revenue),
    deliveryCategory: textOf(value.delivery_category),
    customProperties: isObject(custom_properties) ? custom_properties : {},
  }
}

function toDataProcessing(
  restrictions: ReturnType<typeof readRestrictions>,
): DataProcessing | null {
  const {
    data_processing_options: options = null,
    data_processing_options_country: country = null,
    data_processing_options_state: state = null,
  } = restrictions
  if (options === null && country === null && state === null) return null
  return { options, country, state }
}

function joinedClickIds(
  { attributionJoin, payload, session, eventTime }: StoredEvent,
  platform: Pick<Platform, 'joinClickIds'>,
): Record<string, string> {
  if (attributionJoin !== 'allowed') return {}
  const own = payload?.clickIds ?? {}
  return platform.joinClickIds({ own, seen: rankClickIds(session), eventTime })
}

/** Which click the event is joined to when pages named another one; null: no other one. */
export function findEventClickConflict(event: StoredEvent): ClickConflict | null {
  const { attributionJoin, payload, session, eventTime } = event
  if (attributionJoin !== 'allowed' || payload === null) return null
  return findClickConflict({ own: payload.clickIds, session, eventTime })
}

/**
 * The event that another one names as its parent, so that a platform can join a delayed event to
 * the first one. Null for a parent whose consent did not allow its delivery, or whose person was
 * erased: its child does not disclose it.
 */
export function toOriginalEvent(parent: StoredEvent, destinationId: string): OriginalEvent | null {
  if (parent.measurementClass !== 'advertising' || parent.isErased) return null
  const { eventId } = parent
  const orderId = omitToken(parent.orderId)
  const eventName = platformNameOf(parent, destinationId)
  return { eventId, eventName, orderId, eventTime: clampEventTime(parent) }
}
