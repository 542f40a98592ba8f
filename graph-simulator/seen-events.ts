/** When an event was first seen, and where it was counted. */
export interface SeenEvent {
  /** Milliseconds since 1970 of the first receipt from a server; undefined when none came. */
  serverAt: number | undefined
  /** The same for the Pixel in a browser. */
  browserAt: number | undefined
  /** Hours in which the server's copy is counted, by event_time and by arrival. */
  eventHour: number
  arrivalHour: number
  /** Whose server's copy is the one that counts. */
  isOther: boolean
  /** The server's copy was found to be the browser's event. */
  isMerged: boolean
}

export interface SeenEventKey {
  dataset: string
  eventId: string
  eventName: string
  isTest: boolean
}

/**
 * What was seen under which event_id, within a limit: two generations, of which the older one is
 * forgotten whole when the younger one is full. That needs no order and costs nothing per event.
 */
export class SeenEvents {
  readonly #generationMax: number
  #young = new Map<string, SeenEvent>()
  #old = new Map<string, SeenEvent>()

  /** Remembers at least half of `sightingsMax`, at most all of it. */
  constructor(sightingsMax: number) {
    this.#generationMax = Math.ceil(sightingsMax / 2)
  }

  find(name: SeenEventKey): SeenEvent | undefined {
    const key = keyOf(name)
    return this.#young.get(key) ?? this.#old.get(key)
  }

  /** The event's sighting, a new and empty one when it has none. */
  of(name: SeenEventKey): SeenEvent {
    const known = this.find(name)
    if (known) return known
    if (this.#young.size >= this.#generationMax) {
      this.#old = this.#young
      this.#young = new Map()
    }
    const sighting = newSeenEvent()
    this.#young.set(keyOf(name), sighting)
    return sighting
  }

  /** Forgets what other senders were seen to give. */
  forgetOthers(): void {
    for (const generation of [this.#young, this.#old]) {
      for (const [key, sighting] of generation) {
        sighting.browserAt = undefined
        sighting.isMerged = false
        if (sighting.isOther || sighting.serverAt === undefined) generation.delete(key)
      }
    }
  }

  forget(): void {
    this.#young.clear()
    this.#old.clear()
  }
}

function newSeenEvent(): SeenEvent {
  return {
    serverAt: undefined,
    browserAt: undefined,
    eventHour: 0,
    arrivalHour: 0,
    isOther: false,
    isMerged: false,
  }
}

/** Test events are kept apart, as in ReceivedEvents: they make no live event a duplicate. */
function keyOf({ dataset, eventId, eventName, isTest }: SeenEventKey): string {
  // The name's length keeps ("a", "b c") and ("a b", "c") apart whatever the texts contain.
  return `${isTest ? 'test' : 'live'} ${dataset} ${eventName.length} ${eventName} ${eventId}`
}
