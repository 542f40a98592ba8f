import type { StoredEvent } from '../ledger/store.ts'
import type { OutboundEvent } from '../platforms/platform.ts'

/** Click and browser ids that the platform takes from an earlier visit of the same person. */
const JOINED_IDS = ['fbc', 'fbp'] as const

/**
 * A stored event as an adapter sends it. Where the event has no click id of its own, the one that
 * the visitor's session saw with consent is joined to it (decisions section 4).
 */
export function outboundEvent(event: StoredEvent): OutboundEvent {
  const payload = event.payload
  const value = (event.valueData ?? {}) as { contents?: unknown; num_items?: unknown }
  return {
    eventId: event.eventId,
    eventName: event.eventName,
    eventTime: clamped(event),
    actionSource: event.actionSource,
    eventSource: event.eventSource,
    digests: payload?.digests ?? {},
    plain: { ...payload?.plain, ...joinedIds(event) },
    valueAmount: event.valueAmount,
    valueCurrency: event.valueCurrency,
    orderId: event.orderId,
    contents: Array.isArray(value.contents) ? value.contents : [],
    numItems: typeof value.num_items === 'number' ? value.num_items : null,
  }
}

/** A caller's clock that runs ahead: the platform takes no event from the future. */
function clamped({ eventTime, createdAt }: StoredEvent): Date {
  return new Date(Math.min(Number(eventTime), Number(createdAt)))
}

function joinedIds({ attributionJoin, payload, session }: StoredEvent): Record<string, string> {
  if (attributionJoin !== 'allowed') return {}
  const found: Record<string, string> = {}
  for (const name of JOINED_IDS) {
    const id = payload?.clickIds[name] ?? session?.clickIds[name]
    if (id !== undefined) found[name] = id
  }
  return found
}
