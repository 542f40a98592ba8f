import type { SeededRandom } from '../fixtures/seeded-random.ts'

interface WaitingTask {
  task: number
  proceed: () => void
}

/**
 * Interleaves concurrent tasks in an order that a seed decides: each task waits before every
 * operation until all other tasks wait too, and then one of them continues.
 */
export class Interleaving {
  readonly #random: SeededRandom
  #waiting: WaitingTask[] = []
  #running = 0

  constructor(random: SeededRandom) {
    this.#random = random
  }

  /** Each task gets the number to pass to `waitForTurn`. Resolves when all have finished. */
  async runAll(tasks: readonly ((task: number) => Promise<void>)[]): Promise<void> {
    this.#running = tasks.length
    await Promise.all(
      tasks.map((run, task) =>
        run(task).finally(() => {
          this.#running -= 1
          this.#next()
        }),
      ),
    )
  }

  /** Resolves when it is the task's turn, which lasts until the task waits again or finishes. */
  waitForTurn(task: number): Promise<void> {
    return new Promise(proceed => {
      this.#waiting.push({ task, proceed })
      this.#next()
    })
  }

  #next(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#running) return
    // The order of arrival is random and must not decide.
    const waiting = this.#waiting.toSorted((a, b) => a.task - b.task)
    const chosen = this.#random.pick(waiting)
    this.#waiting = waiting.filter(other => other !== chosen)
    chosen.proceed()
  }
}
