import type { SeededChoices } from './seeded-choices.ts'

interface Waiting {
  player: number
  go: () => void
}

/**
 * Lets several players act at the same time and yet in an order that a seed decides: each waits
 * before every act until all the others wait too, and then one of them is chosen.
 */
export class TakenTurns {
  readonly #choices: SeededChoices
  #waiting: Waiting[] = []
  #playing = 0

  constructor(choices: SeededChoices) {
    this.#choices = choices
  }

  /** Each player gets the number by which it takes its turns. Resolves when all have finished. */
  async together(players: readonly ((player: number) => Promise<void>)[]): Promise<void> {
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
  wait(player: number): Promise<void> {
    return new Promise(go => {
      this.#waiting.push({ player, go })
      this.#next()
    })
  }

  #next(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#playing) return
    // Who began to wait first is chance, and must not count.
    const waiting = this.#waiting.toSorted((a, b) => a.player - b.player)
    const chosen = this.#choices.pick(waiting)
    this.#waiting = waiting.filter(other => other !== chosen)
    chosen.go()
  }
}
