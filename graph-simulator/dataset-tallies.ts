import { type Counted, DatasetTally, type TallySummary } from './dataset-tally.ts'

/** A dataset that comes after so many others is counted in the total only. */
const DATASETS_MAX = 10_000

/** The counts of every dataset, and of all of them together. */
export class DatasetTallies {
  #total = new DatasetTally()
  readonly #byDataset = new Map<string, DatasetTally>()

  countRefused(dataset: string): void {
    for (const tally of this.#talliesOf(dataset)) tally.countRefused()
  }

  countAccepted(dataset: string, events: Counted[]): void {
    for (const tally of this.#talliesOf(dataset)) tally.countAccepted(events)
  }

  /** The counts of one dataset, or of all together when none is named. */
  summary(dataset: string | undefined): TallySummary {
    if (dataset === undefined) return this.#total.summary()
    return (this.#byDataset.get(dataset) ?? new DatasetTally()).summary()
  }

  forget(): void {
    this.#total = new DatasetTally()
    this.#byDataset.clear()
  }

  #talliesOf(dataset: string): DatasetTally[] {
    const known = this.#byDataset.get(dataset)
    if (known) return [this.#total, known]
    if (this.#byDataset.size >= DATASETS_MAX) return [this.#total]
    const tally = new DatasetTally()
    this.#byDataset.set(dataset, tally)
    return [this.#total, tally]
  }
}
