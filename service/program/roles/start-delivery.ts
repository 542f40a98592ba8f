import { findStoreFailureCause } from '../../runtime/db/database-errors.ts'
import {
  listenForNotifications,
  type NotificationListener,
} from '../../runtime/db/notification-listener.ts'
import { findActiveWork, runInSpan, type Tracer } from '../../runtime/tracing/tracer.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import type { CircuitChange } from '../../signals/delivery/circuit-breaker.ts'
import type {
  DeliveryContext,
  DestinationStatusChange,
} from '../../signals/delivery/delivery-context.ts'
import {
  ActivityAnnouncer,
  DELIVERY_CHANNEL,
} from '../../signals/delivery/destination-queue-store.ts'
import { RequestBudgets } from '../../signals/delivery/request-budget-store.ts'
import { type DeliveryWorker, startDeliveryWorker } from '../../signals/delivery/worker.ts'
import { createErasureKeyProvider } from '../../signals/erasure/erasure-store.ts'
import { ensurePartitions, PARTITION_DAYS_AHEAD } from '../../signals/events/partition-store.ts'
import type { OutboundEvent, Platform, SendAnswer } from '../../signals/platforms/platform.ts'
import { createPlatforms, type PlatformRegistry } from '../../signals/platforms/registry.ts'
import {
  type DeliveryMeter,
  registerDeliveryMetrics,
  registerWorkerMetrics,
} from '../metrics/delivery-metrics.ts'
import type { MetricsRegistry } from '../metrics/metrics-registry.ts'
import type { Store } from './open-store.ts'
import type { RoleContext } from './role.ts'

const PLATFORM_MILLISECONDS_MAX = 10_000

/** The platforms at the addresses of the settings, or at the simulator. */
export function platformsOf(
  { settings, now }: RoleContext,
  simulatorUrl: string | null,
): PlatformRegistry {
  const timeoutMilliseconds = PLATFORM_MILLISECONDS_MAX
  return createPlatforms({ settings, simulatorUrl, now, timeoutMilliseconds })
}

/** Creates partitions for the next two weeks: at every start, and hourly by a job. */
export async function preparePartitions(store: Store, { now }: RoleContext): Promise<void> {
  await ensurePartitions(store.database, now(), PARTITION_DAYS_AHEAD)
}

export interface DeliveryOptions {
  platforms: PlatformRegistry
  credentialKeys: CredentialKeys
  /** For metrics. */
  onMoved: (status: DestinationStatusChange['status']) => void
  tracer: Tracer | null
}

/** What delivery needs, for a worker and for requests that send a test purchase immediately. */
export function createDeliveryContext(
  { settings, logger, now }: RoleContext,
  { database, nodes }: Pick<Store, 'database'> & Partial<Pick<Store, 'nodes'>>,
  { platforms, credentialKeys, onMoved, tracer }: DeliveryOptions,
): DeliveryContext {
  return {
    database,
    ...(nodes && { nodes }),
    ...(tracer && { traceBatch: createBatchTracer(tracer) }),
    platforms: tracer ? withPlatformTraces(tracer, platforms) : platforms,
    credentialKeys,
    requestBudgets: new RequestBudgets(database),
    erasureKey: createErasureKeyProvider({ database, credentialKeys, now }),
    batchMax: settings.deliveryBatchMax,
    leaseSeconds: settings.deliveryLeaseSeconds,
    pageHoldSeconds: settings.pageHoldSeconds,
    now,
    random: Math.random,
    onDestinationStatusChanged: change => {
      onMoved(change.status)
      if (change.status === 'active') logger.info(change, 'a destination works again')
      else logger.error(change, 'a destination is paused: the platform rejects its credential')
    },
  }
}

/** Starts a worker, and wakes it when a process announces new deliveries. */
export async function startDelivery(
  context: RoleContext,
  store: Store,
  { registry, ...options }: DeliveryOptions & { registry: MetricsRegistry },
): Promise<DeliveryWorker> {
  const { settings, logger } = context
  const notifications = new DeliveryNotifications(context, store)
  const meter = registerDeliveryMetrics(registry)
  const announcer = new ActivityAnnouncer(store.database, err =>
    logger.warn({ err }, 'live views were not notified of settled deliveries'),
  )
  const worker = startDeliveryWorker({
    context: {
      ...createDeliveryContext(context, store, options),
      ...pickMeterCallbacks(meter),
      onSettled: (settlements, seconds, trackerId) => {
        meter.onSettled(settlements, seconds)
        announcer.announce({ trackerIds: [trackerId], hasDueDeliveries: false })
      },
    },
    limits: {
      requestsMax: settings.deliveryRequestsMax,
      destinationRequestsMax: settings.deliveryRequestsPerDestinationMax,
      pollSeconds: settings.deliveryPollSeconds,
    },
    onError: err => {
      meter.onError()
      const cause = findStoreFailureCause(err)
      logger.error({ err, cause }, 'the delivery worker failed; it continues')
    },
    onQueuesChecked: meter.onQueuesChecked,
    onCircuitChanged: change => logCircuitChange(context, change),
    onPoll: () => notifications.listen(changedId => worker.wake(changedId)),
  })
  registerWorkerMetrics(registry, worker, settings.deliveryRequestsMax)
  return {
    ...worker,
    stop: async () => {
      await worker.stop()
      await notifications.close()
    },
  }
}

function pickMeterCallbacks({ onClaimed, onSettleRetry }: DeliveryMeter) {
  return { onClaimed, onSettleRetry }
}

/** Names the destination, which the metrics do not. */
function logCircuitChange({ logger }: RoleContext, { state, ...destination }: CircuitChange): void {
  if (state === 'closed')
    logger.info(destination, 'a circuit is closed: the platform answers again')
  else logger.warn(destination, 'a circuit is open: the platform cannot be reached')
}

/** The listening connection, which is opened again at the next poll after it failed. */
class DeliveryNotifications {
  readonly #context: RoleContext
  readonly #store: Store
  #listener: NotificationListener | null = null

  constructor(context: RoleContext, store: Store) {
    this.#context = context
    this.#store = store
  }

  async listen(onNotification: (payload: string) => void): Promise<void> {
    if (this.#listener) return
    try {
      this.#listener = await listenForNotifications({
        connectionString: this.#store.connectionString,
        channel: DELIVERY_CHANNEL,
        onNotification,
        onLost: () => {
          this.#listener = null
        },
      })
    } catch (err) {
      this.#context.logger.warn({ err }, 'not listening for new deliveries; polling instead')
    }
  }

  async close(): Promise<void> {
    await this.#listener?.close()
  }
}

/** Makes a span of each batch: claim, review, requests and settlement. */
export function createBatchTracer(tracer: Tracer): NonNullable<DeliveryContext['traceBatch']> {
  return async ({ trackerId, destinationId, platform }, deliver) => {
    const span = tracer.startSpan('deliver batch', {
      kind: 'internal',
      attributes: {
        'signalbox.tracker_id': trackerId,
        'signalbox.destination_id': destinationId,
        'signalbox.platform': platform,
      },
    })
    try {
      const run = await runInSpan({ span, trackerId }, deliver)
      span.end({
        'messaging.batch.message_count': run.claimedCount,
        'signalbox.destination_health': run.health.kind,
      })
      return run
    } catch (error) {
      span.end({}, String((error as { code?: unknown }).code ?? 'unknown'))
      throw error
    }
  }
}

/** The same platforms, with a span of each request, and one in the trace of each of its events. */
export function withPlatformTraces(tracer: Tracer, platforms: PlatformRegistry): PlatformRegistry {
  return platforms.map(platform => ({ ...platform, send: traceSend(tracer, platform) }))
}

/** The request carries no `traceparent`: a platform should not learn about our traces. */
function traceSend(tracer: Tracer, platform: Platform): Platform['send'] {
  return async (connection, events) => {
    const work = findActiveWork()
    const trackerId = work?.trackerId ?? null
    const startedAt = performance.now()
    const refs =
      trackerId === null ? [] : events.map(it => tracer.eventRef(toTraced(it, trackerId)))
    const span = tracer.startSpan(`send to ${platform.name}`, {
      kind: 'client',
      parent: work?.span.ref ?? null,
      links: refs,
      attributes: {
        'signalbox.platform': platform.name,
        'messaging.batch.message_count': events.length,
      },
    })
    const answer = await platform.send(connection, events)
    const outcome = describeAnswer(answer)
    const error = answer.outcome === 'accepted' ? null : answer.outcome
    span.end(outcome, error)
    for (const parent of refs) {
      const links = [span.ref]
      tracer
        .startSpan('deliver', { kind: 'consumer', parent, links, startedAt })
        .end(outcome, error)
    }
    return answer
  }
}

function toTraced({ eventId }: OutboundEvent, trackerId: string) {
  return { trackerId, eventId }
}

/** The platform's own trace ID is what its support asks for. */
function describeAnswer({ outcome, httpStatus, traceId }: SendAnswer) {
  return {
    'signalbox.outcome': outcome,
    ...(httpStatus !== null && { 'http.response.status_code': httpStatus }),
    ...(traceId !== null && { 'signalbox.platform_trace_id': traceId }),
  }
}
