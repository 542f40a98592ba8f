interface Entry<Value> {
  value: Promise<Value>
  expiresAt: number
}

export interface TtlCacheLimits {
  ttlMilliseconds: number
  entriesMax: number
}

/**
 * Remembers what a look-up found for a moment, so that thousands of requests a second cost one
 * query. Requests that arrive during a look-up share it. A failed look-up is not remembered. The
 * life is the longest time for which a change elsewhere, such as a revocation, can go unseen.
 */
export class TtlCache<Value> {
  readonly #load: (key: string) => Promise<Value>
  readonly #limits: TtlCacheLimits
  readonly #entries = new Map<string, Entry<Value>>()

  constructor(load: (key: string) => Promise<Value>, limits: TtlCacheLimits) {
    this.#load = load
    this.#limits = limits
  }

  get(key: string): Promise<Value> {
    const now = performance.now()
    const known = this.#entries.get(key)
    if (known && known.expiresAt > now) return known.value

    const value = this.#load(key)
    const entry = { value, expiresAt: now + this.#limits.ttlMilliseconds }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    this.#dropOldest()
    value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    })
    return value
  }

  /** Whether `get` would answer without a look-up. */
  has(key: string): boolean {
    const known = this.#entries.get(key)
    return known !== undefined && known.expiresAt > performance.now()
  }

  clear(): void {
    this.#entries.clear()
  }

  #dropOldest(): void {
    while (this.#entries.size > this.#limits.entriesMax) {
      const oldest = this.#entries.keys().next().value
      if (oldest === undefined) return
      this.#entries.delete(oldest)
    }
  }
}
