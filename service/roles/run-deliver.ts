import { requireCurrentSchema } from '../db/migrate.ts'
import { credentialKey } from '../provisioning/credential-key.ts'
import { closeAll } from './close-all.ts'
import { openStore } from './open-store.ts'
import type { RoleContext, RunningRole } from './role.ts'
import { platformOf, startDelivery } from './start-delivery.ts'
import { StartError } from './start-error.ts'

/** A delivery worker alone; any number of them may share a store. */
export async function runDeliver(context: RoleContext): Promise<RunningRole> {
  const { settings, logger } = context
  const { platformUrl } = settings
  if (platformUrl === undefined) {
    throw new StartError(
      'Set SIGNALBOX_PLATFORM_URL for the role deliver (Meta: https://graph.facebook.com).',
    )
  }
  const store = await openStore({ settings, logger, role: 'deliver', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    const worker = await startDelivery(context, store, {
      platform: platformOf(settings, platformUrl),
      credentialKey: credentialKey(settings.credentialKey, settings.dataDirectory),
    })
    context.tell(`Signalbox delivers to ${platformUrl}\n`)
    return { close: () => closeAll([store.close, worker.stop]) }
  } catch (error) {
    await store.close()
    throw error
  }
}
