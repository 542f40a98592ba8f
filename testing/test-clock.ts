/** A clock that stands still until the test moves it. */
export class TestClock {
  #at: number

  constructor(startAt = '2026-11-21T12:00:00.000Z') {
    this.#at = Date.parse(startAt)
  }

  readonly now = (): Date => new Date(this.#at)

  forward(seconds: number): void {
    this.#at += seconds * 1_000
  }

  /** As somebody does who sets the machine's clock right. */
  back(seconds: number): void {
    this.#at -= seconds * 1_000
  }
}
