import type { StoredEvent } from '../events/store.ts'
import { extractFbclid } from '../identity/click-ids.ts'
import type { OutboundEvent } from '../platforms/platform.ts'

/**
 * A stored event as an adapter sends it. Where the event has no click id of its own, the one that
 * the visitor's session saw with consent before it is joined to it (decisions section 4).
 */
export function toOutboundEvent(event: StoredEvent): OutboundEvent {
  const payload = event.payload
  const value = (event.valueData ?? {}) as { contents?: unknown; num_items?: unknown }
  return {
    eventId: event.eventId,
    eventName: event.eventName,
    eventTime: clampEventTime(event),
    actionSource: event.actionSource,
    eventSource: event.eventSource,
    digests: payload?.digests ?? {},
    plain: { ...payload?.plain, ...joinedIds(event) },
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

/** The clock that names the time of the event may be so far behind ours, which saw the click. */
const CLOCKS_APART_MILLISECONDS_MAX = 300_000

/** Click and browser id, the event's own or from an earlier visit of the same person. */
function joinedIds(event: StoredEvent): Record<string, string> {
  if (event.attributionJoin !== 'allowed') return {}
  const fbc = joinedFbc(event)
  const fbp = event.payload?.clickIds.fbp ?? event.session?.clickIds.fbp
  return { ...(fbc !== undefined && { fbc }), ...(fbp !== undefined && { fbp }) }
}

/**
 * The click that led here. One that the session saw before keeps the time at which it was first
 * seen; one that it saw only after the event led somewhere else.
 */
function joinedFbc({ payload, session, eventTime }: StoredEvent): string | undefined {
  const own = payload?.clickIds.fbc
  const seen = session?.clickIds.fbc
  if (seen === undefined) return own
  if (own !== undefined)
    return extractFbclid(own) === extractFbclid(seen) ? earlier(own, seen) : own
  return clickedAt(seen) <= Number(eventTime) + CLOCKS_APART_MILLISECONDS_MAX ? seen : undefined
}

function earlier(first: string, second: string): string {
  return clickedAt(second) < clickedAt(first) ? second : first
}

/** The creation time inside an fbc: `fb.<index>.<ms>.<fbclid>`. */
function clickedAt(fbc: string): number {
  return Number(fbc.split('.')[2])
}
