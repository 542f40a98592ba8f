import { openDatabase } from '../service/db/database.ts'
import { deliverDueBatch } from '../service/delivery/deliver-batch.ts'
import type { DeliveryContext } from '../service/delivery/delivery-context.ts'
import {
  type DestinationQueue,
  findDueQueues,
} from '../service/delivery/destination-queue-store.ts'
import type { Platform } from '../service/platforms/platform.ts'
import type { HeardAnswer } from './delivery-promises.ts'
import { type Death, Life, mortalDatabase } from './mortal-database.ts'
import type { ServiceUnderTest } from './service-under-test.ts'
import { datasetOf } from './simulator-controls.ts'

/**
 * A delivery worker with a name and connections of its own. It can die as a process does that is
 * killed: from then on nothing of it reaches the store or the platform.
 */
export interface MortalWorker {
  name: string
  isDead(): boolean
  /** Sends what is due, until nothing is or the worker dies. Waits for `turn` before each act. */
  run(death: Death | null, turn?: () => Promise<void>): Promise<void>
  /** Keeps it from hearing any answer until it is let go, as if its machine stood still. */
  freeze(): Freeze
  close(): Promise<void>
}

export interface Freeze {
  /** The platform has answered, and the worker does not know. */
  isFrozen: Promise<void>
  letGo(): void
}

export interface MortalWorkerOptions {
  name: string
  context: Partial<DeliveryContext>
  /** The order in which it takes lanes, so that a run can be repeated. */
  trackerIds: readonly string[]
  onHeard: (answer: HeardAnswer) => void
}

/** A throttled lane can be due again at once for somebody who does not wait. */
const ROUNDS_MAX = 12

export function mortalWorker(
  service: ServiceUnderTest,
  { name, trackerIds, onHeard, ...options }: MortalWorkerOptions,
): MortalWorker {
  const own = openDatabase({
    connectionString: service.connectionString,
    connectionsMax: 2,
    applicationName: name,
    onIdleError: () => {},
  })
  const life = new Life()
  let hold: { begin: () => void; isOver: Promise<void> } | null = null
  let isStopping = false
  const base = { ...service.delivery, ...options.context }
  const platforms = base.platforms.map(platform => {
    const heard = heardPlatform(platform, name, onHeard)
    const send: Platform['send'] = (connection, events) =>
      life.request(async () => {
        const answer = await heard.send(connection, events)
        hold?.begin()
        await hold?.isOver
        return answer
      })
    return { ...heard, send }
  })
  const database = mortalDatabase(own, life)
  const context = { ...base, database, platforms, isStopping: () => isStopping }
  return {
    name,
    isDead: () => life.isOver(),
    run: async (death, turn = async () => {}) => {
      life.begin(death, turn)
      await deliverAll(context, trackerIds).catch(error => {
        if (!life.isOver()) throw error
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
      return { isFrozen: frozen.promise, letGo }
    },
    close: own.close,
  }
}

/** The same platform, with somebody who listens to what it answers. */
export function heardPlatform(
  platform: Platform,
  worker: string,
  onHeard: (answer: HeardAnswer) => void,
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
