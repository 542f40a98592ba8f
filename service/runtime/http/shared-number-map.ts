import { hash, randomFillSync } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** The set of a key and the 64 bits that identify it there. */
interface Location {
  set: number
  high: number
  low: number
}

/** Entries of a set. The map is set-associative, like a CPU cache. */
const WAYS = 16
const SEED_INTEGERS = 4
/** Integers for the user of the map. */
const USER_INTEGERS = 4
const HEADER_BYTES = (SEED_INTEGERS + USER_INTEGERS) * 4
/** The value, two halves of the tag and the time of last use. */
const ENTRY_BYTES = 8 + 4 + 4 + 4
const LOCK_BYTES = 4
/** Locations that a thread caches, so that a busy key is hashed once. */
const LOCATIONS_MAX = 10_000
const SPINS_MAX = 200
const WAIT_MILLISECONDS = 1
/** A thread that holds a lock for longer than this has died. */
const WAITS_MAX = 50

/**
 * Numbers by key, in memory that several threads share. An unknown key has 0. The memory has a
 * fixed size; when a set of 16 entries is full, the least recently used key is evicted.
 *
 * Keys are identified by 64 bits of a seeded SHA-256, so that callers cannot choose keys that
 * collide. Each set has a lock that is held for a few dozen nanoseconds. When a thread dies while
 * it holds one, the next thread takes the lock after 50 ms: at worst one number misses one update.
 */
export class SharedNumberMap {
  /** Shared integers for the user of the map. Access them with `Atomics`. */
  readonly integers: Int32Array
  readonly #seed: string
  readonly #sets: number
  readonly #values: Float64Array
  readonly #highs: Uint32Array
  readonly #lows: Uint32Array
  readonly #usedAt: Uint32Array
  readonly #locks: Int32Array
  /** Created with the first key: it takes 400 KB at once, and most maps of a thread stay unused. */
  #locations: LRUCache<string, Location> | null = null

  constructor(memory: SharedArrayBuffer) {
    const sets = countSets(memory)
    const entries = sets * WAYS
    let offset = HEADER_BYTES
    const next = (bytes: number) => {
      offset += bytes
      return offset - bytes
    }
    this.#sets = sets
    this.#seed = Buffer.from(new Uint8Array(memory, 0, SEED_INTEGERS * 4)).toString('base64')
    this.integers = new Int32Array(memory, SEED_INTEGERS * 4, USER_INTEGERS)
    this.#values = new Float64Array(memory, next(entries * 8), entries)
    this.#highs = new Uint32Array(memory, next(entries * 4), entries)
    this.#lows = new Uint32Array(memory, next(entries * 4), entries)
    this.#usedAt = new Uint32Array(memory, next(entries * 4), entries)
    this.#locks = new Int32Array(memory, next(sets * 4), sets)
  }

  /** Memory for about `keysMax` keys. Untouched pages use no physical memory. */
  static allocate(keysMax: number): SharedArrayBuffer {
    const sets = Math.ceil(keysMax / WAYS)
    // An even number of sets keeps every part aligned.
    const bytes = HEADER_BYTES + (sets + (sets % 2)) * (WAYS * ENTRY_BYTES + LOCK_BYTES)
    const memory = new SharedArrayBuffer(bytes)
    randomFillSync(new Uint8Array(memory, 0, SEED_INTEGERS * 4))
    return memory
  }

  get(key: string): number {
    const { set, high, low } = this.#locate(key)
    this.#lock(set)
    const entry = this.#find(set, high, low)
    const value = entry === -1 ? 0 : (this.#values[entry] as number)
    this.#unlock(set)
    return value
  }

  /** Changes the number of `key` atomically and returns it. */
  update(key: string, change: (before: number) => number): number {
    const { set, high, low } = this.#locate(key)
    this.#lock(set)
    let entry = this.#find(set, high, low)
    const value = change(entry === -1 ? 0 : (this.#values[entry] as number))
    if (entry === -1) {
      entry = this.#leastUsed(set)
      this.#highs[entry] = high
      this.#lows[entry] = low
    }
    this.#values[entry] = value
    this.#usedAt[entry] = this.#nextUse(set)
    this.#unlock(set)
    return value
  }

  #find(set: number, high: number, low: number): number {
    const first = set * WAYS
    for (let entry = first; entry < first + WAYS; entry += 1) {
      if (this.#lows[entry] === low && this.#highs[entry] === high) return entry
    }
    return -1
  }

  #leastUsed(set: number): number {
    const first = set * WAYS
    let least = first
    for (let entry = first + 1; entry < first + WAYS; entry += 1) {
      if ((this.#usedAt[entry] as number) < (this.#usedAt[least] as number)) least = entry
    }
    return least
  }

  /** One above all others of the set; after 2^32 uses the order of the set starts again. */
  #nextUse(set: number): number {
    const first = set * WAYS
    let latest = 0
    for (let entry = first; entry < first + WAYS; entry += 1) {
      latest = Math.max(latest, this.#usedAt[entry] as number)
    }
    return latest + 1
  }

  #locate(key: string): Location {
    this.#locations ??= new LRUCache({ max: LOCATIONS_MAX })
    const cached = this.#locations.get(key)
    if (cached) return cached
    const digest = hash('sha256', this.#seed + key, 'buffer')
    const location = {
      set: digest.readUInt32LE(0) % this.#sets,
      // Never 0, which marks an empty entry.
      high: digest.readUInt32LE(4) || 1,
      low: digest.readUInt32LE(8),
    }
    this.#locations.set(key, location)
    return location
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
  return Math.floor((memory.byteLength - HEADER_BYTES) / (WAYS * ENTRY_BYTES + LOCK_BYTES))
}
