import { listenForNotifications, type NotificationListener } from '../db/notification-listener.ts'
import type { CircuitChange } from '../delivery/circuit-breaker.ts'
import type { DeliveryContext, DestinationStatusChange } from '../delivery/delivery-context.ts'
import { DELIVERY_CHANNEL } from '../delivery/destination-queue-store.ts'
import type { CredentialKeys } from '../delivery/sealed-credential.ts'
import { type DeliveryWorker, startDeliveryWorker } from '../delivery/worker.ts'
import { ensurePartitions } from '../events/partition-store.ts'
import {
  type DeliveryMeter,
  registerDeliveryMetrics,
  registerWorkerMetrics,
} from '../metrics/delivery-metrics.ts'
import type { MetricsRegistry } from '../metrics/metrics-registry.ts'
import {
  createOfflinePlatforms,
  createPlatforms,
  type PlatformRegistry,
} from '../platforms/registry.ts'
import type { Store } from './open-store.ts'
import type { RoleContext } from './role.ts'

const PLATFORM_MILLISECONDS_MAX = 10_000
const PARTITION_DAYS_AHEAD = 14

/** Without an address, for a process that sends nothing. */
export function platformsOf(
  { settings, now }: RoleContext,
  platformUrl: string | undefined,
): PlatformRegistry {
  if (platformUrl === undefined) return createOfflinePlatforms()
  return createPlatforms({
    baseUrl: platformUrl,
    version: settings.platformVersion,
    now,
    timeoutMilliseconds: PLATFORM_MILLISECONDS_MAX,
  })
}

/** Partitions for the next two weeks: made at every start, and hourly by a job. */
export async function preparePartitions(store: Store, { now }: RoleContext): Promise<void> {
  await ensurePartitions(store.database, now(), PARTITION_DAYS_AHEAD)
}

export interface DeliveryOptions {
  platforms: PlatformRegistry
  credentialKeys: CredentialKeys
  /** For counting. */
  onMoved: (status: DestinationStatusChange['status']) => void
}

/** What delivering needs, for a worker and for requests that send at once. */
export function createDeliveryContext(
  { settings, logger, now }: RoleContext,
  { database, nodes }: Pick<Store, 'database'> & Partial<Pick<Store, 'nodes'>>,
  { platforms, credentialKeys, onMoved }: DeliveryOptions,
): DeliveryContext {
  return {
    database,
    ...(nodes && { nodes }),
    platforms,
    credentialKeys,
    batchMax: settings.deliveryBatchMax,
    leaseSeconds: settings.deliveryLeaseSeconds,
    now,
    random: Math.random,
    onDestinationStatusChanged: move => {
      onMoved(move.status)
      if (move.status === 'active') logger.info(move, 'a destination works again')
      else logger.error(move, 'a destination is paused: the platform refuses it')
    },
  }
}

/** Starts a worker, and wakes it whenever any process announces new deliveries. */
export async function startDelivery(
  context: RoleContext,
  store: Store,
  { registry, ...options }: DeliveryOptions & { registry: MetricsRegistry },
): Promise<DeliveryWorker> {
  const { settings, logger } = context
  const ears = new DeliveryNotifications(context, store)
  const meter = registerDeliveryMetrics(registry)
  const worker = startDeliveryWorker({
    context: { ...createDeliveryContext(context, store, options), ...pickMeterCallbacks(meter) },
    limits: {
      requestsMax: settings.deliveryRequestsMax,
      destinationRequestsMax: settings.deliveryRequestsPerDestinationMax,
      pollSeconds: settings.deliveryPollSeconds,
    },
    onError: err => {
      meter.onError()
      logger.error({ err }, 'delivery stumbled; it goes on')
    },
    onQueuesChecked: meter.onQueuesChecked,
    onCircuitChanged: change => logCircuitChange(context, change),
    onPoll: () => ears.listen(() => worker.wake()),
  })
  registerWorkerMetrics(registry, worker, settings.deliveryRequestsMax)
  return {
    ...worker,
    stop: async () => {
      await worker.stop()
      await ears.close()
    },
  }
}

function pickMeterCallbacks({ onClaimed, onSettled, onSettleRetry }: DeliveryMeter) {
  return { onClaimed, onSettled, onSettleRetry }
}

/** Which platform is away, and since when: the figures name no destination. */
function logCircuitChange({ logger }: RoleContext, { state, ...destination }: CircuitChange): void {
  if (state === 'closed')
    logger.info(destination, 'a circuit is closed: the platform answers again')
  else logger.warn(destination, 'a circuit is open: the platform cannot be reached')
}

/** The listening connection, made again at the next poll after it broke. */
class DeliveryNotifications {
  readonly #context: RoleContext
  readonly #store: Store
  #notices: NotificationListener | null = null

  constructor(context: RoleContext, store: Store) {
    this.#context = context
    this.#store = store
  }

  async listen(onNotice: () => void): Promise<void> {
    if (this.#notices) return
    try {
      this.#notices = await listenForNotifications({
        connectionString: this.#store.connectionString,
        channel: DELIVERY_CHANNEL,
        onNotification: onNotice,
        onLost: () => {
          this.#notices = null
        },
      })
    } catch (err) {
      this.#context.logger.warn({ err }, 'not listening for new deliveries; polling instead')
    }
  }

  async close(): Promise<void> {
    await this.#notices?.close()
  }
}
