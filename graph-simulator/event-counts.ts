import { type BucketKey, HourlyBuckets, toHour } from './hourly-buckets.ts'
import { type SeenEvent, SeenEvents } from './seen-events.ts'
import type { StatsOptions } from './stats-options.ts'

/** One event, or several without an ID, as a sender reported it. */
export interface PlatformEvent {
  dataset: string
  eventName: string
  /** Null: the event is never deduplicated. */
  eventId: string | null
  eventTime: Date
  isTest: boolean
  /** Number of such events; more than 1 only without an ID. */
  count: number
}

export type EventSource = 'server' | 'browser'

/** Meta's window: 48 hours from the first receipt ("Handling Duplicate Pixel and CAPI Events"). */
const DEDUPLICATION_MILLISECONDS = 48 * 3_600_000

/** Server events of one name in one hour. */
interface ServerCount {
  copies: number
  /** Without copies of a server event. */
  unique: number
  /** Unique events that a browser also sent. */
  merged: number
}

interface EventBucket {
  /** Received at POST /{dataset}/events. */
  received: ServerCount
  /** From other servers. */
  others: ServerCount
  browser: number
}

export interface CountRange {
  dataset: string
  /** Hours since 1970: the first hour, and the first hour after the range. */
  from: number
  until: number
  /** Undefined: both sources. */
  source: EventSource | undefined
}

/** The events of one hour by name. */
export type HourCounts = [hour: number, counts: Map<string, number>]

/**
 * Event counts by dataset, hour and name, for the hour of event_time and the hour of arrival.
 * Every variant that StatsOptions can select is counted.
 */
export class EventCounts {
  readonly #buckets = {
    event_time: new HourlyBuckets(newBucket),
    arrival: new HourlyBuckets(newBucket),
  }
  readonly #seenEvents: SeenEvents

  constructor(eventsMax: number) {
    this.#seenEvents = new SeenEvents(eventsMax)
  }

  countServer(event: PlatformEvent, at: Date, isOther = false): void {
    const { isFirst, isMerged } = this.#recordServer(event, at, isOther)
    for (const bucket of this.#bucketsFor(event, at)) {
      const count = isOther ? bucket.others : bucket.received
      count.copies += event.count
      if (isFirst) count.unique += event.count
      if (isMerged) count.merged += event.count
    }
  }

  countBrowser(event: PlatformEvent, at: Date): void {
    this.#recordBrowser(event, at)
    for (const bucket of this.#bucketsFor(event, at)) bucket.browser += event.count
  }

  /** The hours with a count above zero, oldest first. */
  hours({ dataset, from, until, source }: CountRange, options: StatsOptions): HourCounts[] {
    const buckets = this.#buckets[options.count_by]
    return buckets.hours(dataset, from, until).flatMap(([hour, names]) => {
      const counts = [...names]
        .map(([name, bucket]): [string, number] => [name, countEvents(bucket, source, options)])
        .filter(([, count]) => count > 0)
      return counts.length > 0 ? [[hour, new Map(counts)] as HourCounts] : []
    })
  }

  /** Whether the dataset has received any event. */
  hasDataset(dataset: string): boolean {
    return this.#buckets.arrival.hasDataset(dataset)
  }

  /** Server and browser events in these hours, by event name. */
  countsByName(dataset: string, from: number, until: number) {
    const sums = new Map<string, { server: number; browser: number }>()
    for (const [, names] of this.#buckets.arrival.hours(dataset, from, until)) {
      for (const [name, { received, others, browser }] of names) {
        const sum = sums.get(name) ?? { server: 0, browser: 0 }
        sum.server += received.unique + others.unique
        sum.browser += browser
        sums.set(name, sum)
      }
    }
    return sums
  }

  /** Removes the events of other senders; events that they duplicated count again. */
  clearOtherSenders(): void {
    for (const buckets of Object.values(this.#buckets)) {
      for (const bucket of buckets.buckets()) {
        bucket.received.merged = 0
        bucket.others = emptyCount()
        bucket.browser = 0
      }
    }
    this.#seenEvents.clearOtherSenders()
  }

  clear(): void {
    for (const buckets of Object.values(this.#buckets)) buckets.clear()
    this.#seenEvents.clear()
  }

  #recordServer(
    { dataset, eventId, eventName, eventTime, isTest }: PlatformEvent,
    at: Date,
    isOther: boolean,
  ) {
    if (eventId === null) return { isFirst: true, isMerged: false }
    const seen = this.#seenEvents.findOrCreate({ dataset, eventId, eventName, isTest })
    if (isWithin(seen.serverAt, at)) return { isFirst: false, isMerged: false }
    seen.serverAt = at.getTime()
    seen.eventHour = toHour(eventTime)
    seen.arrivalHour = toHour(at)
    seen.isOtherSender = isOther
    seen.isMerged = isWithin(seen.browserAt, at)
    return { isFirst: true, isMerged: seen.isMerged }
  }

  #recordBrowser({ dataset, eventId, eventName }: PlatformEvent, at: Date): void {
    if (eventId === null) return
    const seen = this.#seenEvents.findOrCreate({ dataset, eventId, eventName, isTest: false })
    if (!isWithin(seen.browserAt, at)) seen.browserAt = at.getTime()
    if (!isWithin(seen.serverAt, at) || seen.isMerged) return
    seen.isMerged = true
    for (const bucket of this.#findBuckets(seen, { dataset, name: eventName })) {
      const count = seen.isOtherSender ? bucket.others : bucket.received
      count.merged++
    }
  }

  #bucketsFor({ dataset, eventName: name, eventTime }: PlatformEvent, at: Date): EventBucket[] {
    const { event_time, arrival } = this.#buckets
    const byTime = event_time.bucket({ dataset, hour: toHour(eventTime), name }, at)
    const byArrival = arrival.bucket({ dataset, hour: toHour(at), name }, at)
    return [byTime, byArrival].filter(bucket => bucket !== undefined)
  }

  #findBuckets({ eventHour, arrivalHour }: SeenEvent, key: Omit<BucketKey, 'hour'>): EventBucket[] {
    const { event_time, arrival } = this.#buckets
    const byTime = event_time.find({ ...key, hour: eventHour })
    const byArrival = arrival.find({ ...key, hour: arrivalHour })
    return [byTime, byArrival].filter(bucket => bucket !== undefined)
  }
}

function countEvents(
  { received, others, browser }: EventBucket,
  source: EventSource | undefined,
  options: StatsOptions,
): number {
  const servers = countServerEvents(received, options) + countServerEvents(others, options)
  switch (source) {
    case 'server':
      return servers
    case 'browser':
      return browser
    case undefined:
      return servers + browser
  }
}

function countServerEvents({ copies, unique, merged }: ServerCount, options: StatsOptions): number {
  const count = options.deduplicate_servers ? unique : copies
  return options.deduplicate ? count - merged : count
}

function isWithin(since: number | undefined, at: Date): boolean {
  return since !== undefined && at.getTime() - since < DEDUPLICATION_MILLISECONDS
}

function newBucket(): EventBucket {
  return { received: emptyCount(), others: emptyCount(), browser: 0 }
}

function emptyCount(): ServerCount {
  return { copies: 0, unique: 0, merged: 0 }
}
