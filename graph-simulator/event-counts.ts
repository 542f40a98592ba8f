import { type BucketKey, HourlyBuckets, hourOf } from './hourly-buckets.ts'
import { type SeenEvent, SeenEvents } from './seen-events.ts'
import type { StatsOptions } from './stats-options.ts'

/** One event, or several without an id, as somebody gave it to the platform. */
export interface PlatformEvent {
  dataset: string
  eventName: string
  /** Null names nothing, so that nothing can be a copy of it. */
  eventId: string | null
  eventTime: Date
  isTest: boolean
  /** How many such events; more than 1 only without an id. */
  count: number
}

export type EventSource = 'server' | 'browser'

/** Meta's window: 48 hours from the first receipt ("Handling Duplicate Pixel and CAPI Events"). */
const DEDUPLICATION_MILLISECONDS = 48 * 3_600_000

/** What the servers of one kind gave under one name in one hour. */
interface ServerCount {
  copies: number
  /** Without copies of a server's event. */
  unique: number
  /** Of the firsts, those that a browser gave too. */
  merged: number
}

interface CountCell {
  /** What came to POST /{dataset}/events. */
  received: ServerCount
  /** What other servers gave. */
  others: ServerCount
  browser: number
}

export interface CountRange {
  dataset: string
  /** Hours since 1970: the first one, and the first one after the last. */
  from: number
  until: number
  /** Undefined: both together. */
  source: EventSource | undefined
}

/** The events of one hour by name. */
export type HourCounts = [hour: number, counts: Map<string, number>]

/**
 * How many events came, by dataset, hour and name, both by the hour in which they happened and by
 * the hour in which they arrived. Every count is kept in all the ways in which it can be shown.
 */
export class EventCounts {
  readonly #books = {
    event_time: new HourlyBuckets(emptyCell),
    arrival: new HourlyBuckets(emptyCell),
  }
  readonly #sightings: SeenEvents

  constructor(sightingsMax: number) {
    this.#sightings = new SeenEvents(sightingsMax)
  }

  countServer(event: PlatformEvent, at: Date, isOther = false): void {
    const { isFirst, isMerged } = this.#seeServer(event, at, isOther)
    for (const cell of this.#cellsOf(event, at)) {
      const count = isOther ? cell.others : cell.received
      count.copies += event.count
      if (isFirst) count.unique += event.count
      if (isMerged) count.merged += event.count
    }
  }

  countBrowser(event: PlatformEvent, at: Date): void {
    this.#seeBrowser(event, at)
    for (const cell of this.#cellsOf(event, at)) cell.browser += event.count
  }

  /** The hours in which something counts, oldest first. */
  hours({ dataset, from, until, source }: CountRange, options: StatsOptions): HourCounts[] {
    const book = this.#books[options.count_by]
    return book.hours(dataset, from, until).flatMap(([hour, names]) => {
      const counts = [...names]
        .map(([name, cell]): [string, number] => [name, countOf(cell, source, options)])
        .filter(([, count]) => count > 0)
      return counts.length > 0 ? [[hour, new Map(counts)] as HourCounts] : []
    })
  }

  /** Whether anybody ever gave the dataset an event. */
  knows(dataset: string): boolean {
    return this.#books.arrival.knows(dataset)
  }

  /** What servers and browsers gave in these hours, by event name. */
  given(dataset: string, from: number, until: number) {
    const sums = new Map<string, { server: number; browser: number }>()
    for (const [, names] of this.#books.arrival.hours(dataset, from, until)) {
      for (const [name, { received, others, browser }] of names) {
        const sum = sums.get(name) ?? { server: 0, browser: 0 }
        sum.server += received.unique + others.unique
        sum.browser += browser
        sums.set(name, sum)
      }
    }
    return sums
  }

  /** Forgets what other senders gave; what they were found to have given twice counts again. */
  forgetOthers(): void {
    for (const book of Object.values(this.#books)) {
      for (const cell of book.cells()) {
        cell.received.merged = 0
        cell.others = emptyCount()
        cell.browser = 0
      }
    }
    this.#sightings.forgetOthers()
  }

  forget(): void {
    for (const book of Object.values(this.#books)) book.forget()
    this.#sightings.forget()
  }

  #seeServer(
    { dataset, eventId, eventName, eventTime, isTest }: PlatformEvent,
    at: Date,
    isOther: boolean,
  ) {
    if (eventId === null) return { isFirst: true, isMerged: false }
    const sighting = this.#sightings.of({ dataset, eventId, eventName, isTest })
    if (isWithin(sighting.serverAt, at)) return { isFirst: false, isMerged: false }
    sighting.serverAt = at.getTime()
    sighting.eventHour = hourOf(eventTime)
    sighting.arrivalHour = hourOf(at)
    sighting.isOther = isOther
    sighting.isMerged = isWithin(sighting.browserAt, at)
    return { isFirst: true, isMerged: sighting.isMerged }
  }

  #seeBrowser({ dataset, eventId, eventName }: PlatformEvent, at: Date): void {
    if (eventId === null) return
    const sighting = this.#sightings.of({ dataset, eventId, eventName, isTest: false })
    if (!isWithin(sighting.browserAt, at)) sighting.browserAt = at.getTime()
    if (!isWithin(sighting.serverAt, at) || sighting.isMerged) return
    sighting.isMerged = true
    for (const cell of this.#cellsOfSighting(sighting, { dataset, name: eventName })) {
      const count = sighting.isOther ? cell.others : cell.received
      count.merged++
    }
  }

  #cellsOf({ dataset, eventName: name, eventTime }: PlatformEvent, at: Date): CountCell[] {
    const { event_time, arrival } = this.#books
    const byTime = event_time.cell({ dataset, hour: hourOf(eventTime), name }, at)
    const byArrival = arrival.cell({ dataset, hour: hourOf(at), name }, at)
    return [byTime, byArrival].filter(cell => cell !== undefined)
  }

  #cellsOfSighting(
    { eventHour, arrivalHour }: SeenEvent,
    place: Omit<BucketKey, 'hour'>,
  ): CountCell[] {
    const { event_time, arrival } = this.#books
    const byTime = event_time.find({ ...place, hour: eventHour })
    const byArrival = arrival.find({ ...place, hour: arrivalHour })
    return [byTime, byArrival].filter(cell => cell !== undefined)
  }
}

function countOf(
  { received, others, browser }: CountCell,
  source: EventSource | undefined,
  options: StatsOptions,
): number {
  const servers = serverCountOf(received, options) + serverCountOf(others, options)
  switch (source) {
    case 'server':
      return servers
    case 'browser':
      return browser
    case undefined:
      return servers + browser
  }
}

function serverCountOf(
  { copies, unique: firsts, merged }: ServerCount,
  options: StatsOptions,
): number {
  const count = options.deduplicate_servers ? firsts : copies
  return options.deduplicate ? count - merged : count
}

function isWithin(since: number | undefined, at: Date): boolean {
  return since !== undefined && at.getTime() - since < DEDUPLICATION_MILLISECONDS
}

function emptyCell(): CountCell {
  return { received: emptyCount(), others: emptyCount(), browser: 0 }
}

function emptyCount(): ServerCount {
  return { copies: 0, unique: 0, merged: 0 }
}
