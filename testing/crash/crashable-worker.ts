import { seededRandom } from '@signalbox/graph-simulator/seeded-random.ts'
import { openDatabase } from '../../service/runtime/db/database.ts'
import { CircuitBreakers } from '../../service/signals/delivery/circuit-breaker.ts'
import type { DeliveryContext } from '../../service/signals/delivery/delivery-context.ts'
import type { DestinationQueue } from '../../service/signals/delivery/destination-queue-store.ts'
import type { Platform } from '../../service/signals/platforms/platform.ts'
import { Interleaving } from '../concurrency/interleaving.ts'
import { expireLeases } from '../fixtures/deliveries.ts'
import { deliverRound } from '../fixtures/delivery-round.ts'
import { createSeededRandom } from '../fixtures/seeded-random.ts'
import type { TestService } from '../fixtures/service.ts'
import { datasetOf } from '../fixtures/simulator.ts'
import type { RecordedResponse } from '../simulation/delivery/invariants.ts'
import { CrashableProcess, type CrashPoint, createCrashableDatabase } from './crash-injection.ts'

/**
 * A delivery worker with its own name and connections. It can crash like a killed process: nothing
 * reaches the store or the platform afterward.
 */
interface CrashableWorker {
  name: string
  hasCrashed(): boolean
  /** Delivers until nothing is due or the worker crashes. Awaits its turn before each operation. */
  run(crashPoint: CrashPoint | null, waitForTurn?: () => Promise<void>): Promise<void>
  /** Holds back every response until it is resumed, as if its machine were suspended. */
  freeze(): Freeze
  close(): Promise<void>
}

interface Freeze {
  /** The platform has responded, and the worker has not received the response. */
  isFrozen: Promise<void>
  resume(): void
}

interface CrashableWorkerOptions {
  name: string
  context: Partial<DeliveryContext>
  /** The order in which it claims queues, so that a run is reproducible. */
  trackerIds: readonly string[]
  onResponse: (answer: RecordedResponse) => void
}

/** A throttled queue can be due again immediately for a worker that does not wait. */
const ROUNDS_MAX = 12

function createCrashableWorker(
  service: TestService,
  { name, trackerIds, onResponse, ...options }: CrashableWorkerOptions,
): CrashableWorker {
  const own = openDatabase({
    connectionString: service.connectionString,
    connectionsMax: 2,
    applicationName: name,
    onIdleError: () => {},
  })
  const process = new CrashableProcess()
  const circuits = new CircuitBreakers()
  let freeze: { begin: () => void; end: Promise<void> } | null = null
  let isStopping = false
  const base = { ...service.delivery, ...options.context }
  const platforms = base.platforms.map(platform => {
    const recorded = recordPlatformResponses(platform, name, onResponse)
    const send: Platform['send'] = (connection, events) =>
      process.sendRequest(async () => {
        const answer = await recorded.send(connection, events)
        freeze?.begin()
        await freeze?.end
        return answer
      })
    return { ...recorded, send }
  })
  const database = createCrashableDatabase(own, process)
  const context = { ...base, database, platforms, isStopping: () => isStopping }
  return {
    name,
    hasCrashed: () => process.hasCrashed(),
    run: async (crashPoint, waitForTurn = async () => {}) => {
      process.arm(crashPoint, waitForTurn)
      await deliverDue(context, trackerIds, circuits).catch(error => {
        if (!process.hasCrashed()) throw error
      })
    },
    freeze: () => {
      const frozen = Promise.withResolvers<void>()
      const resumed = Promise.withResolvers<void>()
      freeze = { begin: frozen.resolve, end: resumed.promise }
      const resume = () => {
        // By its own clock its lease has expired: it begins no further request.
        isStopping = true
        resumed.resolve()
      }
      return { isFrozen: frozen.promise, resume }
    },
    close: own.close,
  }
}

/** The same platform, reporting each response to `onResponse`. */
export function recordPlatformResponses(
  platform: Platform,
  worker: string,
  onResponse: (answer: RecordedResponse) => void,
): Platform {
  const send: Platform['send'] = async (connection, events) => {
    const answer = await platform.send(connection, events)
    const { outcome, traceId } = answer
    const eventIds = events.map(({ eventId }) => eventId)
    onResponse({ worker, datasetId: datasetOf(connection), eventIds, outcome, traceId })
    return answer
  }
  return { ...platform, send }
}

/** Delivers in rounds, with circuits on the clock of the test, until nothing is due. */
async function deliverDue(
  context: DeliveryContext,
  trackerIds: readonly string[],
  circuits: CircuitBreakers,
): Promise<void> {
  const orderOf = ({ trackerId }: DestinationQueue) => trackerIds.indexOf(trackerId)
  const compareQueues = (left: DestinationQueue, right: DestinationQueue) =>
    orderOf(left) - orderOf(right)
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const { queueCount } = await deliverRound(context, { circuits, compareQueues })
    if (queueCount === 0) return
  }
}

interface CrashableWorkerPoolOptions {
  context: Partial<DeliveryContext>
  trackerIds: readonly string[]
  seed: number
  onResponse: (answer: RecordedResponse) => void
}

/** The workers of one service; a crashed worker is replaced when there is work. */
export class CrashableWorkerPool {
  /** Crashed, or frozen until their leases expired. None of them works again. */
  readonly lostWorkers = new Set<string>()
  readonly #service: TestService
  readonly #options: CrashableWorkerPoolOptions
  readonly #turns: Interleaving
  #live: CrashableWorker[] = []
  #startedCount = 0

  constructor(service: TestService, options: CrashableWorkerPoolOptions) {
    this.#service = service
    this.#options = options
    this.#turns = new Interleaving(createSeededRandom(options.seed))
  }

  /** Runs one worker for each entry concurrently; a non-null entry is where it crashes. */
  async work(crashPoints: readonly (CrashPoint | null)[]): Promise<void> {
    const workers = crashPoints.map((_, index) => this.#worker(index))
    const turns = this.#turns
    await turns.runAll(
      workers.map(
        (worker, index) => task =>
          worker.run(crashPoints[index] ?? null, () => turns.waitForTurn(task)),
      ),
    )
    for (const worker of workers) if (worker.hasCrashed()) await this.#lose(worker)
  }

  /** The frozen worker's result must not be stored: another worker owns its rows by then. */
  async freezeOne(): Promise<void> {
    const [frozen, other] = [this.#worker(0), this.#worker(1)]
    const { isFrozen, resume } = frozen.freeze()
    const run = frozen.run(null)
    await Promise.race([isFrozen, run])
    await expireLeases(this.#service.database)
    await other.run(null)
    resume()
    await run
    await this.#lose(frozen)
  }

  async close(): Promise<void> {
    for (const worker of this.#live) await worker.close()
    this.#live = []
  }

  #worker(index: number): CrashableWorker {
    const existing = this.#live[index]
    if (existing) return existing
    this.#startedCount += 1
    const { seed, context, ...options } = this.#options
    const random = seededRandom(seed + this.#startedCount)
    const name = `worker-${this.#startedCount}`
    const worker = createCrashableWorker(this.#service, {
      ...options,
      name,
      context: { ...context, random },
    })
    this.#live.push(worker)
    return worker
  }

  async #lose(worker: CrashableWorker): Promise<void> {
    this.lostWorkers.add(worker.name)
    this.#live = this.#live.filter(({ name }) => name !== worker.name)
    await worker.close()
  }
}
