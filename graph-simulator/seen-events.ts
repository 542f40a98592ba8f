/** When an event was first received, and in which hours it was counted. */
export interface SeenEvent {
  /** Milliseconds since 1970 of the first server event; undefined before one. */
  serverAt: number | undefined
  /** Milliseconds since 1970 of the first browser event (the Pixel). */
  browserAt: number | undefined
  /** Hours in which the server event is counted, by event_time and by arrival. */
  eventHour: number
  arrivalHour: number
  /** Whether the counted server event is from another sender. */
  isOtherSender: boolean
  /** Whether the server event duplicates a browser event. */
  isMerged: boolean
}

export interface SeenEventKey {
  dataset: string
  eventId: string
  eventName: string
  isTest: boolean
}

/**
 * The events seen under each event_id, within a limit. Two generations: when the current one is
 * full, the previous one is dropped as a whole. That needs no order and costs nothing per event.
 */
export class SeenEvents {
  readonly #generationMax: number
  #current = new Map<string, SeenEvent>()
  #previous = new Map<string, SeenEvent>()

  /** Remembers at least half of `eventsMax` events and at most all of them. */
  constructor(eventsMax: number) {
    this.#generationMax = Math.ceil(eventsMax / 2)
  }

  find(event: SeenEventKey): SeenEvent | undefined {
    const key = toKey(event)
    return this.#current.get(key) ?? this.#previous.get(key)
  }

  /** The record of an event; creates an empty one for an unknown event. */
  findOrCreate(event: SeenEventKey): SeenEvent {
    const known = this.find(event)
    if (known) return known
    if (this.#current.size >= this.#generationMax) {
      this.#previous = this.#current
      this.#current = new Map()
    }
    const seen = newSeenEvent()
    this.#current.set(toKey(event), seen)
    return seen
  }

  /** Removes the events of other senders. */
  clearOtherSenders(): void {
    for (const generation of [this.#current, this.#previous]) {
      for (const [key, seen] of generation) {
        seen.browserAt = undefined
        seen.isMerged = false
        if (seen.isOtherSender || seen.serverAt === undefined) generation.delete(key)
      }
    }
  }

  clear(): void {
    this.#current.clear()
    this.#previous.clear()
  }
}

function newSeenEvent(): SeenEvent {
  return {
    serverAt: undefined,
    browserAt: undefined,
    eventHour: 0,
    arrivalHour: 0,
    isOtherSender: false,
    isMerged: false,
  }
}

/** Test events and live events never deduplicate each other, as in ReceivedEvents. */
function toKey({ dataset, eventId, eventName, isTest }: SeenEventKey): string {
  // The length of the name distinguishes ("a", "b c") from ("a b", "c").
  return `${isTest ? 'test' : 'live'} ${dataset} ${eventName.length} ${eventName} ${eventId}`
}
