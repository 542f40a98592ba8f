import type { EventSummary } from '@signalbox/contract/session/events.ts'
import type { LiveMessage } from '@signalbox/contract/session/live.ts'
import type { Database } from '../../runtime/db/database.ts'
import { findDeliveries } from '../../signals/delivery/delivery-store.ts'
import { type FoundEvent, searchEventRefs } from '../../signals/event-reads/search-store.ts'
import { type EventRef, eventRefKey } from '../../signals/events/event-columns.ts'
import { readEventSummaries, toEventOutcome } from '../search-events.ts'
import type { EventStream } from './event-stream.ts'

/**
 * Events become visible in the order of their commits, not of their times of receipt. Each read
 * goes back this far, and events that were sent are dropped. An event that is committed later than
 * this after its receipt is not sent; the list has it.
 */
const OVERLAP_MILLISECONDS = 10_000
/** Events of one read. At more than this in ten seconds the overlap is shorter. */
const EVENTS_PER_READ_MAX = 500
/** The first message of a new stream: a page of the list. */
const FIRST_EVENTS = 50
/** Events whose deliveries are read again, until they are final. */
const FOLLOWED_EVENTS_MAX = 200

interface FeedOptions {
  database: Database
  trackerId: string
  now: () => Date
}

interface Joining {
  stream: EventStream
  /** The time of the last message that the page got; null for a new page. */
  since: Date | null
}

interface FollowedEvent {
  ref: EventRef
  row: EventSummary
}

/**
 * The new events of one tracker, read once for all of its streams. Reads follow one another, so
 * that a stream that joins gets each event once: in its first message or in a later one.
 */
export class TrackerFeed {
  readonly #options: FeedOptions
  readonly #streams = new Set<EventStream>()
  /** Events of the overlap that were sent, with their times of receipt. */
  readonly #sent = new Map<string, Date>()
  readonly #followed = new Map<string, FollowedEvent>()
  #lastRead: Promise<unknown> = Promise.resolve()
  /** When the last successful read began. */
  #readAt: Date | null = null

  constructor(options: FeedOptions) {
    this.#options = options
  }

  /** What a page names to resume: it has everything that was visible at this time. */
  get lastEventId(): string {
    return (this.#readAt ?? this.#options.now()).toISOString()
  }

  /** Sends the first message of a stream, and later ones with each `refresh`. */
  join(joining: Joining): Promise<void> {
    return this.#enqueue(() => this.#read(joining))
  }

  leave(stream: EventStream): void {
    this.#streams.delete(stream)
  }

  get isEmpty(): boolean {
    return this.#streams.size === 0
  }

  /** Sends what is new. A failure loses nothing: the next read begins where the last one did. */
  refresh(): Promise<void> {
    return this.#enqueue(() => this.#read(null))
  }

  sendHeartbeats(): void {
    for (const stream of this.#streams) stream.sendHeartbeat(this.lastEventId)
  }

  #enqueue(read: () => Promise<void>): Promise<void> {
    const finished = this.#lastRead.then(read)
    this.#lastRead = finished.catch(() => {})
    return finished
  }

  async #read(joining: Joining | null): Promise<void> {
    const { database, trackerId, now } = this.#options
    const readAt = now()
    const from = goBack(this.#readAt ?? readAt)
    const found = await searchEventRefs(
      database,
      { trackerId, ...rangeOf(from, joining), limit: EVENTS_PER_READ_MAX },
      { eventName: null, orderId: null },
    )
    const changed = await this.#readChanges()
    const fresh = found.filter(row => row.createdAt >= from && !this.#sent.has(eventRefKey(row)))
    const first = joining ? eventsOfFirstMessage(found, joining) : []
    const rows = await readRows(this.#options, [...(this.isEmpty ? [] : fresh), ...first])

    this.#readAt = readAt
    const isFull = found.length === EVENTS_PER_READ_MAX
    const oldest = found.at(-1)
    this.#publish({
      events: pickRows(rows, fresh),
      changed,
      has_left_out: isFull && oldest !== undefined && fresh.includes(oldest),
    })
    for (const row of found) this.#sent.set(eventRefKey(row), row.createdAt)
    this.#follow([...fresh, ...first], rows)
    this.#forget(goBack(readAt))
    if (!joining) return
    const hasLeftOut = isFull && joining.since !== null && first.length === found.length
    this.#streams.add(joining.stream)
    joining.stream.send(
      { events: pickRows(rows, first), changed: [], has_left_out: hasLeftOut },
      this.lastEventId,
    )
  }

  #publish(message: LiveMessage): void {
    if (message.events.length + message.changed.length === 0) return
    for (const stream of this.#streams) stream.send(message, this.lastEventId)
  }

  /** The followed events of which a delivery has changed. */
  async #readChanges(): Promise<EventSummary[]> {
    const { database, trackerId } = this.#options
    const followed = [...this.#followed.values()].filter(({ row }) => !isFinal(row))
    if (followed.length === 0) return []
    const refs = followed.map(({ ref }) => ref)
    const deliveries = await findDeliveries(database, trackerId, refs)
    const byEvent = Map.groupBy(deliveries, eventRefKey)
    return followed.flatMap(event => {
      const outcomes = (byEvent.get(eventRefKey(event.ref)) ?? []).map(toEventOutcome)
      if (JSON.stringify(outcomes) === JSON.stringify(event.row.deliveries)) return []
      event.row = { ...event.row, deliveries: outcomes }
      return [event.row]
    })
  }

  /** The newest events, without those that are followed already: their changes are not sent yet. */
  #follow(found: readonly FoundEvent[], rows: ReadonlyMap<string, EventSummary>): void {
    for (const { createdAt, eventId, space } of found.toReversed()) {
      const ref = { createdAt, eventId, space }
      const key = eventRefKey(ref)
      const row = rows.get(key)
      if (row && !this.#followed.has(key)) this.#followed.set(key, { ref, row })
    }
    const surplus = this.#followed.size - FOLLOWED_EVENTS_MAX
    for (const key of [...this.#followed.keys()].slice(0, Math.max(0, surplus))) {
      this.#followed.delete(key)
    }
  }

  #forget(before: Date): void {
    for (const [key, createdAt] of this.#sent) if (createdAt < before) this.#sent.delete(key)
  }
}

function goBack(time: Date): Date {
  return new Date(time.getTime() - OVERLAP_MILLISECONDS)
}

function rangeOf(from: Date, joining: Joining | null) {
  const range = { to: null, after: null }
  if (!joining) return { ...range, from }
  if (joining.since === null) return { ...range, from: null }
  const since = goBack(joining.since)
  return { ...range, from: since < from ? since : from }
}

function eventsOfFirstMessage(found: readonly FoundEvent[], { since }: Joining): FoundEvent[] {
  if (since === null) return found.slice(0, FIRST_EVENTS)
  const from = goBack(since)
  return found.filter(({ createdAt }) => createdAt >= from)
}

async function readRows(
  { database, trackerId }: FeedOptions,
  found: readonly FoundEvent[],
): Promise<Map<string, EventSummary>> {
  const byKey = new Map(found.map(row => [eventRefKey(row), row]))
  if (byKey.size === 0) return new Map()
  return readEventSummaries(database, trackerId, [...byKey.values()])
}

/** Oldest first. */
function pickRows(
  rows: ReadonlyMap<string, EventSummary>,
  found: readonly FoundEvent[],
): EventSummary[] {
  return found.toReversed().flatMap(row => rows.get(eventRefKey(row)) ?? [])
}

/** A replay changes failed deliveries, so they are followed too. */
function isFinal({ deliveries }: EventSummary): boolean {
  return deliveries.every(({ status }) => status === 'accepted' || status.startsWith('skipped:'))
}
