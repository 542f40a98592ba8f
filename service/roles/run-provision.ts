import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { credentialKey } from '../provisioning/credential-key.ts'
import {
  type Credentials,
  readCredentialsFile,
  reserveCredentialsFile,
  writeCredentialsFile,
} from '../provisioning/credentials-file.ts'
import { provisionTracker } from '../provisioning/provision-tracker.ts'
import type { Settings } from '../settings/settings.ts'
import { openStore } from './open-store.ts'
import type { RoleContext } from './role.ts'
import { StartError } from './start-error.ts'

const USAGE = 'Usage: npm run provision -- --out FILE [--name WORKSPACE]'

/** Makes a further workspace, tracker and destination and writes their credentials to a file. */
export async function runProvision(
  { settings, logger, now, tell }: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  const { path, workspaceName } = readArguments(argumentList)
  const store = await openStore({ settings, logger, role: 'provision', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    const key = credentialKey(settings.credentialKey, settings.dataDirectory)
    const giveBack = reserveCredentialsFile(path)
    const provisioned = await provisionTracker(store.database, {
      workspaceName,
      at: now(),
      credentialKey: key,
    }).catch(error => {
      giveBack()
      throw error
    })
    writeCredentialsFile(path, {
      base_url: baseUrl(settings),
      tracker_id: provisioned.trackerId,
      tracker_secret: provisioned.trackerSecret,
      destination_id: provisioned.destinationId,
      simulator_url: demoCredentials(settings)?.simulator_url ?? null,
    })
    tell(`Credentials of workspace ${provisioned.workspaceId} are in ${path}\n`)
  } finally {
    await store.close()
  }
}

function readArguments(argumentList: readonly string[]): { path: string; workspaceName: string } {
  try {
    const { values } = parseArgs({
      args: [...argumentList],
      options: { out: { type: 'string' }, name: { type: 'string', default: 'Workspace' } },
    })
    if (values.out) return { path: resolve(values.out), workspaceName: values.name }
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
  throw new StartError(USAGE)
}

/** The running service wrote where it listens; without its file, the settings must say it. */
function baseUrl(settings: Settings): string {
  if (settings.publicOrigin) return `${settings.publicOrigin}${BASE_PATH}`
  return (
    demoCredentials(settings)?.base_url ?? `http://${settings.host}:${settings.port}${BASE_PATH}`
  )
}

function demoCredentials({ dataDirectory }: Settings): Credentials | null {
  return readCredentialsFile(join(dataDirectory, 'credentials.json'))
}
