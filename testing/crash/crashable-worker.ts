import { seededRandom } from '@signalbox/graph-simulator/seeded-random.ts'
import { openDatabase } from '../../service/db/database.ts'
import { deliverDueBatch } from '../../service/delivery/deliver-batch.ts'
import type { DeliveryContext } from '../../service/delivery/delivery-context.ts'
import {
  type DestinationQueue,
  findDueQueues,
} from '../../service/delivery/destination-queue-store.ts'
import type { Platform } from '../../service/platforms/platform.ts'
import { Interleaving } from '../concurrency/interleaving.ts'
import { expireLeases } from '../fixtures/deliveries.ts'
import { createSeededRandom } from '../fixtures/seeded-random.ts'
import type { TestService } from '../fixtures/service.ts'
import { datasetOf } from '../fixtures/simulator.ts'
import type { RecordedResponse } from '../simulation/delivery/invariants.ts'
import { CrashableProcess, type CrashPoint, createCrashableDatabase } from './crash-injection.ts'

/**
 * A delivery worker with a name and connections of its own. It can die as a process does that is
 * killed: from then on nothing of it reaches the store or the platform.
 */
interface CrashableWorker {
  name: string
  hasCrashed(): boolean
  /** Sends what is due, until nothing is or the worker dies. Waits for `turn` before each act. */
  run(death: CrashPoint | null, turn?: () => Promise<void>): Promise<void>
  /** Keeps it from hearing any answer until it is let go, as if its machine stood still. */
  freeze(): Freeze
  close(): Promise<void>
}

interface Freeze {
  /** The platform has answered, and the worker does not know. */
  isFrozen: Promise<void>
  resume(): void
}

interface CrashableWorkerOptions {
  name: string
  context: Partial<DeliveryContext>
  /** The order in which it takes lanes, so that a run can be repeated. */
  trackerIds: readonly string[]
  onResponse: (answer: RecordedResponse) => void
}

/** A throttled lane can be due again at once for somebody who does not wait. */
const ROUNDS_MAX = 12

function createCrashableWorker(
  service: TestService,
  { name, trackerIds, onResponse: onHeard, ...options }: CrashableWorkerOptions,
): CrashableWorker {
  const own = openDatabase({
    connectionString: service.connectionString,
    connectionsMax: 2,
    applicationName: name,
    onIdleError: () => {},
  })
  const life = new CrashableProcess()
  let hold: { begin: () => void; isOver: Promise<void> } | null = null
  let isStopping = false
  const base = { ...service.delivery, ...options.context }
  const platforms = base.platforms.map(platform => {
    const heard = recordPlatformResponses(platform, name, onHeard)
    const send: Platform['send'] = (connection, events) =>
      life.sendRequest(async () => {
        const answer = await heard.send(connection, events)
        hold?.begin()
        await hold?.isOver
        return answer
      })
    return { ...heard, send }
  })
  const database = createCrashableDatabase(own, life)
  const context = { ...base, database, platforms, isStopping: () => isStopping }
  return {
    name,
    hasCrashed: () => life.hasCrashed(),
    run: async (death, turn = async () => {}) => {
      life.arm(death, turn)
      await deliverAll(context, trackerIds).catch(error => {
        if (!life.hasCrashed()) throw error
      })
    },
    freeze: () => {
      const frozen = Promise.withResolvers<void>()
      const free = Promise.withResolvers<void>()
      hold = { begin: frozen.resolve, isOver: free.promise }
      const letGo = () => {
        // Its own clock tells it then that its lease is over: it begins no further request.
        isStopping = true
        free.resolve()
      }
      return { isFrozen: frozen.promise, resume: letGo }
    },
    close: own.close,
  }
}

/** The same platform, with somebody who listens to what it answers. */
export function recordPlatformResponses(
  platform: Platform,
  worker: string,
  onHeard: (answer: RecordedResponse) => void,
): Platform {
  const send: Platform['send'] = async (connection, events) => {
    const answer = await platform.send(connection, events)
    const { outcome, traceId } = answer
    const eventIds = events.map(({ eventId }) => eventId)
    onHeard({ worker, datasetId: datasetOf(connection), eventIds, outcome, traceId })
    return answer
  }
  return { ...platform, send }
}

async function deliverAll(context: DeliveryContext, trackerIds: readonly string[]): Promise<void> {
  const orderOf = ({ trackerId }: DestinationQueue) => trackerIds.indexOf(trackerId)
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const due = { now: context.now(), queuesMax: 100, excludedDestinationIds: [] }
    const lanes = await findDueQueues(context.database, due)
    if (lanes.length === 0 || context.isStopping?.()) return
    for (const lane of lanes.toSorted((a, b) => orderOf(a) - orderOf(b))) {
      await deliverDueBatch(context, lane, () => {})
    }
  }
}

interface CrashableWorkerPoolOptions {
  context: Partial<DeliveryContext>
  trackerIds: readonly string[]
  seed: number
  onResponse: (answer: RecordedResponse) => void
}

/** The workers of one service: who dies is replaced by another when there is work. */
export class CrashableWorkerPool {
  /** Dead, or frozen until the leases were over. None of them works again. */
  readonly lostWorkers = new Set<string>()
  readonly #service: TestService
  readonly #options: CrashableWorkerPoolOptions
  readonly #turns: Interleaving
  #living: CrashableWorker[] = []
  #hired = 0

  constructor(service: TestService, options: CrashableWorkerPoolOptions) {
    this.#service = service
    this.#options = options
    this.#turns = new Interleaving(createSeededRandom(options.seed))
  }

  /** One worker for each entry, all at the same time; an entry that is not null is its death. */
  async work(deaths: readonly (CrashPoint | null)[]): Promise<void> {
    const workers = deaths.map((_, index) => this.#worker(index))
    const turns = this.#turns
    await turns.runAll(
      workers.map(
        (worker, index) => player =>
          worker.run(deaths[index] ?? null, () => turns.waitForTurn(player)),
      ),
    )
    for (const worker of workers) if (worker.hasCrashed()) await this.#lose(worker)
  }

  /** What the frozen one says afterwards must not count: its rows belong to another by then. */
  async freezeOne(): Promise<void> {
    const [frozen, other] = [this.#worker(0), this.#worker(1)]
    const { isFrozen, resume: letGo } = frozen.freeze()
    const run = frozen.run(null)
    await Promise.race([isFrozen, run])
    await expireLeases(this.#service.database)
    await other.run(null)
    letGo()
    await run
    await this.#lose(frozen)
  }

  async close(): Promise<void> {
    for (const worker of this.#living) await worker.close()
    this.#living = []
  }

  #worker(index: number): CrashableWorker {
    const known = this.#living[index]
    if (known) return known
    this.#hired += 1
    const { seed, context, ...options } = this.#options
    const chance = seededRandom(seed + this.#hired)
    const name = `worker-${this.#hired}`
    const worker = createCrashableWorker(this.#service, {
      ...options,
      name,
      context: { ...context, random: chance },
    })
    this.#living.push(worker)
    return worker
  }

  async #lose(worker: CrashableWorker): Promise<void> {
    this.lostWorkers.add(worker.name)
    this.#living = this.#living.filter(({ name }) => name !== worker.name)
    await worker.close()
  }
}
