import type { SeededRandom } from '../fixtures/seeded-random.ts'

interface WaitingTask {
  task: number
  go: () => void
}

/**
 * Lets several players act at the same time and yet in an order that a seed decides: each waits
 * before every act until all the others wait too, and then one of them is chosen.
 */
export class Interleaving {
  readonly #choices: SeededRandom
  #waiting: WaitingTask[] = []
  #playing = 0

  constructor(choices: SeededRandom) {
    this.#choices = choices
  }

  /** Each player gets the number by which it takes its turns. Resolves when all have finished. */
  async runAll(players: readonly ((player: number) => Promise<void>)[]): Promise<void> {
    this.#playing = players.length
    await Promise.all(
      players.map((play, player) =>
        play(player).finally(() => {
          this.#playing -= 1
          this.#next()
        }),
      ),
    )
  }

  /** Resolves when it is the player's turn. It lasts until the player waits again or finishes. */
  waitForTurn(player: number): Promise<void> {
    return new Promise(go => {
      this.#waiting.push({ task: player, go })
      this.#next()
    })
  }

  #next(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#playing) return
    // Who began to wait first is chance, and must not count.
    const waiting = this.#waiting.toSorted((a, b) => a.task - b.task)
    const chosen = this.#choices.pick(waiting)
    this.#waiting = waiting.filter(other => other !== chosen)
    chosen.go()
  }
}
