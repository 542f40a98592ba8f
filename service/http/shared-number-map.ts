import { hash, randomFillSync } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** Where a key belongs: its set, and the 64 bits by which it is known there. */
interface Place {
  set: number
  high: number
  low: number
}

/** Slots of a set. A key lies in one of those of its own set. */
const WAYS = 16
const SEED_WORDS = 4
/** Numbers of the map's user that lie beside it. */
const USER_WORDS = 4
const HEADER_BYTES = (SEED_WORDS + USER_WORDS) * 4
/** Value, two halves of the tag, and when it was used last. */
const SLOT_BYTES = 8 + 4 + 4 + 4
const LOCK_BYTES = 4
/** Places that one thread remembers, so that a busy key is hashed once. */
const PLACES_MAX = 10_000
const SPINS_MAX = 200
const WAIT_MILLISECONDS = 1
/** A thread that holds a lock for longer than this has died holding it. */
const WAITS_MAX = 50

/**
 * Numbers by key, in memory that threads share: what one thread writes, the others read at once. An
 * unknown key has 0. The memory has a fixed size; where a set of 16 slots is full, the key that was
 * not used for longest is forgotten.
 *
 * Keys are known by 64 bits of a seeded SHA-256, so that no caller can choose keys that collide.
 * Each set has a lock that is held for a few dozen nanoseconds. When a thread dies while it holds
 * one, the next thread takes the lock after 50 ms: at worst one number is off by one update.
 */
export class SharedNumberMap {
  /** Integers for the user of the map, shared like the numbers. For `Atomics`. */
  readonly integers: Int32Array
  readonly #seed: string
  readonly #sets: number
  readonly #values: Float64Array
  readonly #highs: Uint32Array
  readonly #lows: Uint32Array
  readonly #usedAt: Uint32Array
  readonly #locks: Int32Array
  readonly #places = new LRUCache<string, Place>({ max: PLACES_MAX })

  constructor(memory: SharedArrayBuffer) {
    const sets = countSets(memory)
    const slots = sets * WAYS
    let offset = HEADER_BYTES
    const next = (bytes: number) => {
      offset += bytes
      return offset - bytes
    }
    this.#sets = sets
    this.#seed = Buffer.from(new Uint8Array(memory, 0, SEED_WORDS * 4)).toString('base64')
    this.integers = new Int32Array(memory, SEED_WORDS * 4, USER_WORDS)
    this.#values = new Float64Array(memory, next(slots * 8), slots)
    this.#highs = new Uint32Array(memory, next(slots * 4), slots)
    this.#lows = new Uint32Array(memory, next(slots * 4), slots)
    this.#usedAt = new Uint32Array(memory, next(slots * 4), slots)
    this.#locks = new Int32Array(memory, next(sets * 4), sets)
  }

  /** Memory for about `keysMax` keys. Pages that no key touches take no room. */
  static allocate(keysMax: number): SharedArrayBuffer {
    const sets = Math.ceil(keysMax / WAYS)
    // An even number of sets keeps every part aligned.
    const bytes = HEADER_BYTES + (sets + (sets % 2)) * (WAYS * SLOT_BYTES + LOCK_BYTES)
    const memory = new SharedArrayBuffer(bytes)
    randomFillSync(new Uint8Array(memory, 0, SEED_WORDS * 4))
    return memory
  }

  get(key: string): number {
    const { set, high, low } = this.#placeOf(key)
    this.#lock(set)
    const slot = this.#find(set, high, low)
    const value = slot === -1 ? 0 : (this.#values[slot] as number)
    this.#unlock(set)
    return value
  }

  /** Changes the number of `key` in one step, also as seen by other threads. Returns it. */
  update(key: string, change: (before: number) => number): number {
    const { set, high, low } = this.#placeOf(key)
    this.#lock(set)
    let slot = this.#find(set, high, low)
    const value = change(slot === -1 ? 0 : (this.#values[slot] as number))
    if (slot === -1) {
      slot = this.#leastUsed(set)
      this.#highs[slot] = high
      this.#lows[slot] = low
    }
    this.#values[slot] = value
    this.#usedAt[slot] = this.#nextUse(set)
    this.#unlock(set)
    return value
  }

  #find(set: number, high: number, low: number): number {
    const first = set * WAYS
    for (let slot = first; slot < first + WAYS; slot += 1) {
      if (this.#lows[slot] === low && this.#highs[slot] === high) return slot
    }
    return -1
  }

  #leastUsed(set: number): number {
    const first = set * WAYS
    let least = first
    for (let slot = first + 1; slot < first + WAYS; slot += 1) {
      if ((this.#usedAt[slot] as number) < (this.#usedAt[least] as number)) least = slot
    }
    return least
  }

  /** One above all others of the set; 2^32 uses later the order of one set starts anew. */
  #nextUse(set: number): number {
    const first = set * WAYS
    let latest = 0
    for (let slot = first; slot < first + WAYS; slot += 1) {
      latest = Math.max(latest, this.#usedAt[slot] as number)
    }
    return latest + 1
  }

  #placeOf(key: string): Place {
    const known = this.#places.get(key)
    if (known) return known
    const digest = hash('sha256', this.#seed + key, 'buffer')
    const place = {
      set: digest.readUInt32LE(0) % this.#sets,
      // Never 0, the tag of an empty slot.
      high: digest.readUInt32LE(4) || 1,
      low: digest.readUInt32LE(8),
    }
    this.#places.set(key, place)
    return place
  }

  #lock(set: number): void {
    const locks = this.#locks
    for (let waits = 0; waits < WAITS_MAX; waits += 1) {
      for (let spins = 0; spins < SPINS_MAX; spins += 1) {
        if (Atomics.compareExchange(locks, set, 0, 1) === 0) return
      }
      Atomics.wait(locks, set, 1, WAIT_MILLISECONDS)
    }
  }

  #unlock(set: number): void {
    Atomics.store(this.#locks, set, 0)
  }
}

function countSets(memory: SharedArrayBuffer): number {
  return Math.floor((memory.byteLength - HEADER_BYTES) / (WAYS * SLOT_BYTES + LOCK_BYTES))
}
