import { requireCurrentSchema } from '../db/migrate.ts'
import { destinationMetrics } from '../metrics/delivery-metrics.ts'
import { meteredPlatform } from '../metrics/metered-platform.ts'
import { credentialKeys } from '../provisioning/credential-keys.ts'
import { closeAll } from './close-all.ts'
import { openStore } from './open-store.ts'
import type { RoleContext, RunningRole } from './role.ts'
import { deliveryContext, platformOf, preparePartitions } from './start-delivery.ts'
import { startHttp } from './start-http.ts'
import { startMetrics } from './start-metrics.ts'

const NO_PLATFORM = 'http://127.0.0.1:9'

/** The HTTP service alone; any number of them may share a store. Deliveries wait for a worker. */
export async function runServe(context: RoleContext): Promise<RunningRole> {
  const { settings, logger } = context
  const store = await openStore({ settings, logger, role: 'serve', embedded: 'join' })
  const closers = [store.close]
  try {
    const { registry, ...metrics } = await startMetrics(context, store)
    closers.push(metrics.close)
    await requireCurrentSchema(store.database)
    await preparePartitions(store, context)
    const platformUrl = settings.platformUrl ?? NO_PLATFORM
    const platform = meteredPlatform(registry, platformOf(context, platformUrl))
    const onMoved = destinationMetrics(registry)
    const keys = credentialKeys(settings)
    // Test purchases are sent by the process that is asked for them.
    const sending = { platform, credentialKeys: keys, onMoved }
    const service = await startHttp(context, {
      database: store.database,
      platform,
      delivery: settings.platformUrl ? deliveryContext(context, store, sending) : null,
      credentialKeys: keys,
      onPlanned: () => {},
      registry,
    })
    closers.push(service.close)
    service.markReady()
    context.tell(`Signalbox serves at ${service.origin}\nIts metrics are at ${metrics.url}\n`)
    return { close: () => closeAll(closers) }
  } catch (error) {
    await closeAll(closers)
    throw error
  }
}
