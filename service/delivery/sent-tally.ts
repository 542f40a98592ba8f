import { formatUtcDay } from '../events/event-record.ts'
import type { OutboundEvent, SendOutcome } from '../platforms/platform.ts'
import type { ClaimedBatch } from './claim-store.ts'
import { clampEventTime } from './outbound-event.ts'
import type { OutboundDelivery } from './send-events.ts'

/** Deliveries that are counted alike: one event name, one UTC day, the same identifiers. */
export interface SentGroup {
  number: number
  eventName: string
  /** The UTC day of the event's time as the platform reads it, YYYY-MM-DD. */
  eventOn: string
  /** The keys by which the platform finds a person, in order. */
  keys: readonly string[]
}

/** What the settlement of one delivery adds to the kept counts. */
export interface SentMark {
  groupNumber: number
  /** Attempts that ended without a usable answer: this one, and one of a worker that died. */
  unknown: number
}

export interface SentTally {
  groups: SentGroup[]
  /** By delivery id. What is missing here adds nothing. */
  marks: Map<number, SentMark>
}

/** One request, of which these events were decided. */
export interface DecidedRequest {
  decided: readonly OutboundDelivery[]
  outcome: SendOutcome
}

/**
 * What deliveries of a batch add to the kept counts: those of a request, or, without one, those
 * that are settled unsent. A delivery that was taken over from a worker that died has an attempt
 * with no known end. Grouped here, because a batch of a thousand has a handful of groups.
 */
export function tallySent(
  batch: ClaimedBatch,
  settledIds: readonly number[],
  request: DecidedRequest | null,
): SentTally {
  const groups = new Map<string, SentGroup>()
  const marks = new Map<number, SentMark>()
  const sentEvents = new Map(request?.decided.map(({ id, event }) => [id, event]))
  const isUnknown = request?.outcome === 'unknown'
  for (const id of settledIds) {
    const claimed = batch.claimed.get(id)
    const isTakenUp = claimed?.isLeaseTakeover === true
    const event = sentEvents.get(id) ?? (isTakenUp ? unsentEvent(batch, id) : null)
    if (!event) continue
    const group = groupOf(groups, event)
    marks.set(id, { groupNumber: group.number, unknown: Number(isUnknown) + Number(isTakenUp) })
  }
  return { groups: [...groups.values()], marks }
}

type CountedEvent = Pick<OutboundEvent, 'eventName' | 'eventTime' | 'digests' | 'plain'>

/** Nothing of it is accepted, so its identifiers do not matter. */
function unsentEvent({ events }: ClaimedBatch, id: number): CountedEvent | null {
  const event = events.get(id)
  if (!event) return null
  return { eventName: event.eventName, eventTime: clampEventTime(event), digests: {}, plain: {} }
}

function groupOf(groups: Map<string, SentGroup>, event: CountedEvent): SentGroup {
  const eventOn = formatUtcDay(event.eventTime)
  const keys = [...Object.keys(event.digests), ...Object.keys(event.plain)].sort()
  const name = `${eventOn} ${keys.join(' ')} ${event.eventName}`
  const known = groups.get(name)
  if (known) return known
  const group = { number: groups.size, eventName: event.eventName, eventOn, keys }
  groups.set(name, group)
  return group
}
