import { requireCurrentSchema } from '../../runtime/db/migrate.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { ensurePartitions, PARTITION_DAYS_AHEAD } from '../../signals/events/partition-store.ts'
import { listAddresses } from '../../signals/platforms/plug-ins.ts'
import { registerDestinationMetrics, withPlatformMetrics } from '../metrics/delivery-metrics.ts'
import { loadStoreKeys } from '../provisioning/installation-keys.ts'
import { checkAuthAdapter } from './http-worker-supervisor.ts'
import { type HttpWorkers, prepareHttpWorkers } from './http-workers.ts'
import { openStore, type Store } from './open-store.ts'
import { closeAll, type RoleContext, type RunningRole, releaseStartMemory } from './role.ts'
import type { HttpService } from './start-http.ts'
import { type RunningMetrics, startMetrics, startTracing } from './start-observability.ts'

/** The HTTP service; any number of these processes may share a store. A worker has to deliver. */
export async function runServe(context: RoleContext): Promise<RunningRole> {
  const { settings, logger } = context
  const closers: (() => Promise<void>)[] = []
  const adapterCheck = checkAuthAdapter()
  // Awaited below, unless the start fails before.
  adapterCheck.catch(() => {})
  try {
    const workers = await prepareHttpWorkers(context, 'serve')
    if (workers) closers.push(workers.close)
    const store = await openStore({ settings, logger, role: 'serve', embedded: 'join' })
    closers.push(store.close)
    const metrics = await startMetrics(context, store)
    closers.push(metrics.close)
    await requireCurrentSchema(store.database)
    await ensurePartitions(store.database, context.now(), PARTITION_DAYS_AHEAD)
    await adapterCheck
    const keys = await loadStoreKeys(settings, store.database)
    const dependencies = { store, credentialKeys: keys, metrics }
    const service = workers
      ? await serveInWorkers(workers, dependencies)
      : await serveInProcess(context, dependencies, closers)
    closers.push(service.close)
    await releaseStartMemory()
    await service.markReady()
    context.printStatus(
      `Signalbox serves at ${service.origin}\nIts metrics are at ${metrics.url}\n`,
    )
    return { close: () => closeAll(closers) }
  } catch (error) {
    await closeAll(closers)
    throw error
  }
}

interface ServeDependencies {
  store: Store
  credentialKeys: CredentialKeys
  metrics: RunningMetrics
}

function serveInWorkers(
  workers: HttpWorkers,
  { store, credentialKeys, metrics }: ServeDependencies,
): Promise<HttpService> {
  metrics.addWorkerSnapshots(workers.snapshots)
  return workers.start({ store, credentialKeys, simulatorUrl: null, onPlanned: () => {} })
}

/** Where workers serve, the main thread loads nothing of delivery and of consent. */
async function serveInProcess(
  context: RoleContext,
  { store, credentialKeys, metrics: { registry } }: ServeDependencies,
  closers: (() => Promise<void>)[],
): Promise<HttpService> {
  const { startHttp } = await import('./start-http.ts')
  const { createDeliveryContext, platformsOf } = await import('./start-delivery.ts')
  const platforms = withPlatformMetrics(registry, platformsOf(context, null))
  const tracer = await startTracing(context, 'serve')
  if (tracer) closers.push(tracer.close)
  // Test purchases are sent by the process that gets the request.
  const onMoved = registerDestinationMetrics(registry)
  const options = { platforms, credentialKeys, onMoved, tracer }
  return startHttp(context, {
    database: store.database,
    connectionString: store.connectionString,
    nodes: store.nodes,
    platforms,
    delivery:
      listAddresses(context.settings).length > 0
        ? createDeliveryContext(context, store, options)
        : null,
    credentialKeys,
    onPlanned: () => {},
    registry,
    tracer,
  })
}
