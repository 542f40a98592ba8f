import { seededRandom } from '@signalbox/graph-simulator/seeded-random.ts'
import type { DeliveryContext } from '../service/delivery/delivery-context.ts'
import type { HeardAnswer } from './delivery-promises.ts'
import { endLeases } from './end-leases.ts'
import type { Death } from './mortal-database.ts'
import { type MortalWorker, mortalWorker } from './mortal-worker.ts'
import { seededChoices } from './seeded-choices.ts'
import type { ServiceUnderTest } from './service-under-test.ts'
import { TakenTurns } from './taken-turns.ts'

export interface MortalCrewOptions {
  context: Partial<DeliveryContext>
  trackerIds: readonly string[]
  seed: number
  onHeard: (answer: HeardAnswer) => void
}

/** The workers of one service: who dies is replaced by another when there is work. */
export class MortalCrew {
  /** Dead, or frozen until the leases were over. None of them works again. */
  readonly lostWorkers = new Set<string>()
  readonly #service: ServiceUnderTest
  readonly #options: MortalCrewOptions
  readonly #turns: TakenTurns
  #living: MortalWorker[] = []
  #hired = 0

  constructor(service: ServiceUnderTest, options: MortalCrewOptions) {
    this.#service = service
    this.#options = options
    this.#turns = new TakenTurns(seededChoices(options.seed))
  }

  /** One worker for each entry, all at the same time; an entry that is not null is its death. */
  async work(deaths: readonly (Death | null)[]): Promise<void> {
    const workers = deaths.map((_, index) => this.#worker(index))
    const turns = this.#turns
    await turns.together(
      workers.map(
        (worker, index) => player => worker.run(deaths[index] ?? null, () => turns.wait(player)),
      ),
    )
    for (const worker of workers) if (worker.isDead()) await this.#lose(worker)
  }

  /** What the frozen one says afterwards must not count: its rows belong to another by then. */
  async freezeOne(): Promise<void> {
    const [frozen, other] = [this.#worker(0), this.#worker(1)]
    const { isFrozen, letGo } = frozen.freeze()
    const run = frozen.run(null)
    await Promise.race([isFrozen, run])
    await endLeases(this.#service.database)
    await other.run(null)
    letGo()
    await run
    await this.#lose(frozen)
  }

  async close(): Promise<void> {
    for (const worker of this.#living) await worker.close()
    this.#living = []
  }

  #worker(index: number): MortalWorker {
    const known = this.#living[index]
    if (known) return known
    this.#hired += 1
    const { seed, context, ...options } = this.#options
    const chance = seededRandom(seed + this.#hired)
    const name = `worker-${this.#hired}`
    const worker = mortalWorker(this.#service, {
      ...options,
      name,
      context: { ...context, random: chance },
    })
    this.#living.push(worker)
    return worker
  }

  async #lose(worker: MortalWorker): Promise<void> {
    this.lostWorkers.add(worker.name)
    this.#living = this.#living.filter(({ name }) => name !== worker.name)
    await worker.close()
  }
}
