/** Meta's reports reach back 7 days; one day more keeps the oldest hour complete. */
const HOURS_KEPT = 8 * 24
/** Datasets beyond this limit are not counted by the hour. */
const DATASETS_MAX = 10_000
/** Buckets of all hours; event names beyond this limit are not counted. */
const BUCKETS_MAX = 1_000_000
const NAME_CHARACTERS_MAX = 1_000
const HOUR_MILLISECONDS = 3_600_000

export interface BucketKey {
  dataset: string
  /** Hours since 1970, as returned by `toHour`. */
  hour: number
  name: string
}

/** The hour of a time, in whole hours since 1970. */
export function toHour(at: Date): number {
  return Math.floor(at.getTime() / HOUR_MILLISECONDS)
}

type Names<Bucket> = Map<string, Bucket>

/**
 * One bucket for each dataset, hour and event name of the last 8 days. Older hours are dropped, so
 * memory stays bounded however long the simulator runs.
 */
export class HourlyBuckets<Bucket> {
  readonly #newBucket: () => Bucket
  readonly #hours = new Map<number, Map<string, Names<Bucket>>>()
  readonly #datasets = new Set<string>()
  #size = 0

  constructor(newBucket: () => Bucket) {
    this.#newBucket = newBucket
  }

  /** The bucket of a key, created when missing; undefined beyond a limit. */
  bucket({ dataset, hour, name }: BucketKey, now: Date): Bucket | undefined {
    const existing = this.find({ dataset, hour, name })
    if (existing) return existing
    if (hour <= toHour(now) - HOURS_KEPT || name.length > NAME_CHARACTERS_MAX) return undefined
    this.#dropOld(toHour(now) - HOURS_KEPT)
    if (this.#size >= BUCKETS_MAX || !this.#admitDataset(dataset)) return undefined
    const bucket = this.#newBucket()
    this.#findOrCreateNames(dataset, hour).set(name, bucket)
    this.#size++
    return bucket
  }

  find({ dataset, hour, name }: BucketKey): Bucket | undefined {
    return this.#hours.get(hour)?.get(dataset)?.get(name)
  }

  /** The non-empty hours of a dataset from `from` to before `until`, oldest first. */
  hours(dataset: string, from: number, until: number): [hour: number, names: Names<Bucket>][] {
    return [...this.#hours]
      .filter(([hour]) => hour >= from && hour < until)
      .sort(([left], [right]) => left - right)
      .flatMap(([hour, datasets]) => {
        const names = datasets.get(dataset)
        return names ? [[hour, names] as [number, Names<Bucket>]] : []
      })
  }

  /** Whether any event of the dataset was counted. */
  hasDataset(dataset: string): boolean {
    return this.#datasets.has(dataset)
  }

  *buckets(): Iterable<Bucket> {
    for (const datasets of this.#hours.values())
      for (const names of datasets.values()) yield* names.values()
  }

  clear(): void {
    this.#hours.clear()
    this.#datasets.clear()
    this.#size = 0
  }

  #admitDataset(dataset: string): boolean {
    if (!this.#datasets.has(dataset) && this.#datasets.size >= DATASETS_MAX) return false
    this.#datasets.add(dataset)
    return true
  }

  #findOrCreateNames(dataset: string, hour: number): Names<Bucket> {
    const datasets = this.#hours.get(hour) ?? new Map<string, Names<Bucket>>()
    this.#hours.set(hour, datasets)
    const names = datasets.get(dataset) ?? new Map<string, Bucket>()
    datasets.set(dataset, names)
    return names
  }

  #dropOld(until: number): void {
    for (const [hour, datasets] of this.#hours) {
      if (hour > until) continue
      for (const names of datasets.values()) this.#size -= names.size
      this.#hours.delete(hour)
    }
  }
}
