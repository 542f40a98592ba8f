import type { StoredEvent } from '../events/store.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import type { OutboundEvent, Platform } from '../platforms/platform.ts'

/**
 * A stored event as a platform sends it. Where the event has no click ID of its own, the one that
 * the visitor's session saw with consent before it is joined to it.
 */
export function toOutboundEvent(
  event: StoredEvent,
  { digests, plain }: PlatformIdentity,
  platform: Pick<Platform, 'joinClickIds'>,
): OutboundEvent {
  const value = (event.valueData ?? {}) as { contents?: unknown; num_items?: unknown }
  return {
    eventId: event.eventId,
    eventName: event.eventName,
    eventTime: clampEventTime(event),
    actionSource: event.actionSource,
    eventSource: event.eventSource,
    digests,
    plain: { ...plain, ...joinedClickIds(event, platform) },
    valueAmount: event.valueAmount,
    valueCurrency: event.valueCurrency,
    orderId: event.orderId,
    contents: Array.isArray(value.contents) ? value.contents : [],
    numItems: typeof value.num_items === 'number' ? value.num_items : null,
    optOut: event.eventClass === 'test',
  }
}

/** A caller's clock that runs ahead: the platform takes no event from the future. */
export function clampEventTime({
  eventTime,
  createdAt,
}: Pick<StoredEvent, 'eventTime' | 'createdAt'>): Date {
  return new Date(Math.min(Number(eventTime), Number(createdAt)))
}

function joinedClickIds(
  { attributionJoin, payload, session, eventTime }: StoredEvent,
  platform: Pick<Platform, 'joinClickIds'>,
): Record<string, string> {
  if (attributionJoin !== 'allowed') return {}
  const own = payload?.clickIds ?? {}
  return platform.joinClickIds({ own, seen: session?.clickIds ?? {}, eventTime })
}

/**
 * The identity that acceptance made of the event for a platform; null when it made none, because
 * no destination of the platform was there or no plug-in of it was installed.
 */
export function findPlatformIdentity(
  { digests, plain, platforms }: NonNullable<StoredEvent['payload']>,
  { name }: Platform,
  defaultName: string,
): PlatformIdentity | null {
  if (name === defaultName) return { digests, plain }
  return platforms && Object.hasOwn(platforms, name) ? (platforms[name] ?? null) : null
}
