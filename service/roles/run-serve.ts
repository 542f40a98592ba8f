import { requireCurrentSchema } from '../db/migrate.ts'
import { closeAll } from './close-all.ts'
import { openStore } from './open-store.ts'
import type { RoleContext, RunningRole } from './role.ts'
import { platformOf, preparePartitions } from './start-delivery.ts'
import { startHttp } from './start-http.ts'

const NO_PLATFORM = 'http://127.0.0.1:9'

/** The HTTP service alone; any number of them may share a store. Deliveries wait for a worker. */
export async function runServe(context: RoleContext): Promise<RunningRole> {
  const { settings, logger } = context
  const store = await openStore({ settings, logger, role: 'serve', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    await preparePartitions(store, context)
    const service = await startHttp(context, {
      database: store.database,
      platform: platformOf(settings, settings.platformUrl ?? NO_PLATFORM),
      onPlanned: () => {},
    })
    service.markReady()
    context.tell(`Signalbox serves at ${service.origin}\n`)
    return { close: () => closeAll([store.close, service.close]) }
  } catch (error) {
    await store.close()
    throw error
  }
}
