import { requireCurrentSchema } from '../../runtime/db/migrate.ts'
import { listAddresses, PLUG_INS_WITH_ADDRESS } from '../../signals/platforms/plug-ins.ts'
import { registerDestinationMetrics, withPlatformMetrics } from '../metrics/delivery-metrics.ts'
import { loadStoreKeys } from '../provisioning/installation-keys.ts'
import { openStore } from './open-store.ts'
import {
  closeAll,
  type RoleContext,
  type RunningRole,
  releaseStartMemory,
  StartError,
} from './role.ts'
import {
  createDeliveryContext,
  platformsOf,
  preparePartitions,
  startDelivery,
} from './start-delivery.ts'
import { startJobs } from './start-jobs.ts'
import { startMetrics, startTracing } from './start-observability.ts'

/** A delivery worker and the jobs; any number of these processes may share a store. */
export async function runDeliver(context: RoleContext): Promise<RunningRole> {
  const { settings, logger } = context
  const addresses = listAddresses(settings)
  if (addresses.length === 0) throw new StartError(explainNoAddress())
  const store = await openStore({ settings, logger, role: 'deliver', embedded: 'join' })
  const closers = [store.close]
  try {
    const { registry, ...metrics } = await startMetrics(context, store)
    closers.push(metrics.close)
    await requireCurrentSchema(store.database)
    await preparePartitions(store, context)
    const tracer = await startTracing(context, 'deliver')
    if (tracer) closers.push(tracer.close)
    const options = {
      tracer,
      platforms: withPlatformMetrics(registry, platformsOf(context, null)),
      credentialKeys: await loadStoreKeys(settings, store.database),
      onMoved: registerDestinationMetrics(registry),
    }
    const worker = await startDelivery(context, store, { ...options, registry })
    closers.push(worker.stop)
    const delivery = createDeliveryContext(context, store, options)
    closers.push(startJobs(context, store, { registry, delivery }).stop)
    await releaseStartMemory()
    const urls = addresses.map(({ url }) => url).join(', ')
    context.printStatus(`Signalbox delivers to ${urls}\nIts metrics are at ${metrics.url}\n`)
    return { close: () => closeAll(closers) }
  } catch (error) {
    await closeAll(closers)
    throw error
  }
}

function explainNoAddress(): string {
  const given = PLUG_INS_WITH_ADDRESS.map(
    ({ address, label, productionUrl }, index) =>
      `${address.variable}${index === 0 ? ' for deliver' : ''}: ${productionUrl} for ${label}`,
  )
  return (
    `Set ${given.join(', or ')}, or ` +
    'http://127.0.0.1:3001 for the simulator, which "npm run simulator" starts.'
  )
}
