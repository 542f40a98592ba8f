/** Meta's reports reach back 7 days; one day more, so that the oldest hour is whole. */
const HOURS_KEPT = 8 * 24
/** A dataset that comes after so many others is not counted by the hour. */
const DATASETS_MAX = 10_000
/** Cells of all hours together; a name that comes after so many others is not counted. */
const CELLS_MAX = 1_000_000
const NAME_CHARACTERS_MAX = 1_000
const HOUR_MILLISECONDS = 3_600_000

export interface BucketKey {
  dataset: string
  /** Whole hours since 1970, as `hourOf` gives them. */
  hour: number
  name: string
}

/** The hour that a time falls into, in whole hours since 1970. */
export function hourOf(at: Date): number {
  return Math.floor(at.getTime() / HOUR_MILLISECONDS)
}

type Names<Cell> = Map<string, Cell>

/**
 * One cell for each dataset, hour and event name of the last 8 days. Older hours are forgotten, so
 * that memory is bounded however long the simulator runs.
 */
export class HourlyBuckets<Cell> {
  readonly #newCell: () => Cell
  readonly #hours = new Map<number, Map<string, Names<Cell>>>()
  readonly #datasets = new Set<string>()
  #size = 0

  constructor(newCell: () => Cell) {
    this.#newCell = newCell
  }

  /** The cell to count in, made when it is missing; undefined when nothing more may be kept. */
  cell({ dataset, hour, name }: BucketKey, now: Date): Cell | undefined {
    const known = this.find({ dataset, hour, name })
    if (known) return known
    if (hour <= hourOf(now) - HOURS_KEPT || name.length > NAME_CHARACTERS_MAX) return undefined
    this.#dropOld(hourOf(now) - HOURS_KEPT)
    if (this.#size >= CELLS_MAX || !this.#admits(dataset)) return undefined
    const cell = this.#newCell()
    this.#namesOf(dataset, hour).set(name, cell)
    this.#size++
    return cell
  }

  find({ dataset, hour, name }: BucketKey): Cell | undefined {
    return this.#hours.get(hour)?.get(dataset)?.get(name)
  }

  /** The dataset's hours from `from` until before `until`, oldest first, where there is one. */
  hours(dataset: string, from: number, until: number): [hour: number, names: Names<Cell>][] {
    return [...this.#hours]
      .filter(([hour]) => hour >= from && hour < until)
      .sort(([left], [right]) => left - right)
      .flatMap(([hour, datasets]) => {
        const names = datasets.get(dataset)
        return names ? [[hour, names] as [number, Names<Cell>]] : []
      })
  }

  /** Whether the dataset was ever counted here. */
  knows(dataset: string): boolean {
    return this.#datasets.has(dataset)
  }

  *cells(): Iterable<Cell> {
    for (const datasets of this.#hours.values())
      for (const names of datasets.values()) yield* names.values()
  }

  forget(): void {
    this.#hours.clear()
    this.#datasets.clear()
    this.#size = 0
  }

  #admits(dataset: string): boolean {
    if (!this.#datasets.has(dataset) && this.#datasets.size >= DATASETS_MAX) return false
    this.#datasets.add(dataset)
    return true
  }

  #namesOf(dataset: string, hour: number): Names<Cell> {
    const datasets = this.#hours.get(hour) ?? new Map<string, Names<Cell>>()
    this.#hours.set(hour, datasets)
    const names = datasets.get(dataset) ?? new Map<string, Cell>()
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
