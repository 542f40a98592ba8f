import { join } from 'node:path'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { migrate } from '../db/migrate.ts'
import { credentialKey } from '../provisioning/credential-key.ts'
import { provisionDemo } from '../provisioning/provision-demo.ts'
import type { Settings } from '../settings/settings.ts'
import { closeAll } from './close-all.ts'
import { openStore, type Store } from './open-store.ts'
import type { RoleContext, RunningRole } from './role.ts'
import { startSimulatorProcess } from './simulator-process.ts'
import { platformOf, preparePartitions, startDelivery } from './start-delivery.ts'
import { startHttp } from './start-http.ts'
import { startSummary } from './start-summary.ts'

/**
 * `npm start`: the store, its migrations, the service, a delivery worker and, unless
 * SIGNALBOX_PLATFORM_URL names a platform, the simulator; with a demo tracker on an empty store.
 */
export async function runAll(context: RoleContext): Promise<RunningRole> {
  const { settings, logger, now } = context
  const closers: (() => Promise<void>)[] = []
  try {
    const store = await openStore({ settings, logger, role: 'all', embedded: 'start' })
    closers.push(store.close)
    store.embedded?.exited.then(context.onFatal)
    await migrate(store.database)
    await preparePartitions(store, context)

    const simulator = await simulatorOf(context)
    if (simulator) closers.push(simulator.stop)
    simulator?.exited.then(context.onFatal)
    const platformUrl = simulator?.url ?? (settings.platformUrl as string)
    const platform = platformOf(settings, platformUrl)
    const key = credentialKey(settings.credentialKey, settings.dataDirectory)

    const worker = await startDelivery(context, store, { platform, credentialKey: key })
    closers.push(worker.stop)
    const service = await startHttp(context, {
      database: store.database,
      platform,
      onPlanned: worker.wake,
    })
    closers.push(service.close)

    const credentialsPath = join(settings.dataDirectory, 'credentials.json')
    const hasCredentials = await provisionDemo(store.database, {
      path: credentialsPath,
      baseUrl: `${service.origin}${BASE_PATH}`,
      simulatorUrl: simulator?.url ?? null,
      at: now(),
      credentialKey: key,
      isStoreOurs: store.embedded !== null,
    })
    service.markReady()
    context.tell(
      startSummary({
        origin: service.origin,
        store: storeLine(settings, store),
        platform: simulator ? `simulator at ${simulator.url}` : platformUrl,
        credentialsPath: hasCredentials ? credentialsPath : null,
        at: now(),
        given: settings.given,
        environment: settings.textOf,
      }),
    )
    return { close: () => closeAll(closers) }
  } catch (error) {
    await closeAll(closers)
    throw error
  }
}

async function simulatorOf({ settings, logger }: RoleContext) {
  if (settings.platformUrl !== undefined) return null
  const beside = settings.port === 0 ? 0 : settings.port + 1
  return startSimulatorProcess(settings.simulatorPort || beside, logger)
}

function storeLine(settings: Settings, { embedded }: Store): string {
  if (!embedded) return 'PostgreSQL at DATABASE_URL'
  const how = embedded.adopted ? 'adopted from an earlier run' : 'started'
  return `embedded PostgreSQL in ${settings.dataDirectory} (${how})`
}
