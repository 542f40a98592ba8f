import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { parseEmailAddress } from '../people/account-fields.ts'
import type { TargetConfig } from '../platforms/platform.ts'
import { createOfflinePlatforms } from '../platforms/registry.ts'
import {
  readCredentialsFile,
  reserveCredentialsFile,
  type StoredCredentials,
  writeCredentialsFile,
} from '../provisioning/credentials-file.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { readPlatformToken, rejectTokenArgument } from '../provisioning/platform-token.ts'
import { provisionOwner } from '../provisioning/provision-owner.ts'
import { type ConnectedDestination, provisionTracker } from '../provisioning/provision-tracker.ts'
import type { Settings } from '../settings/settings.ts'
import { readDataset } from './credential-command.ts'
import { requireOrigins } from './key-command.ts'
import { openStore, type Store } from './open-store.ts'
import { type RoleContext, StartError } from './role.ts'

const USAGE =
  'Usage: npm run provision -- --out FILE [--name WORKSPACE] [--owner ADDRESS] ' +
  '[--origin ORIGIN]... [--dataset DIGITS --token-from FILE|-]'

/** Makes a further workspace, tracker and destination and writes their credentials to a file. */
export async function runProvision(
  { settings, logger, now, printStatus: tell }: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  rejectTokenArgument(argumentList)
  const { path, workspaceName, owner, origins, connection } = parseProvisionCommand(argumentList)
  const connected = connection && (await connectedTo(connection))
  const store = await openStore({ settings, logger, role: 'provision', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    const keys = loadCredentialKeys(settings)
    const giveBack = reserveCredentialsFile(path)
    const provisioned = await provisionTracker(store.database, {
      workspaceName,
      origins,
      at: now(),
      credentialKeys: keys,
      connected,
    }).catch(error => {
      giveBack()
      throw error
    })
    const { workspaceId } = provisioned
    const ownerPassword =
      owner && (await createOwner(store, { workspaceId, email: owner, at: now() }))
    writeCredentialsFile(path, {
      base_url: baseUrl(settings),
      tracker_id: provisioned.trackerId,
      tracker_secret: provisioned.trackerSecret,
      publishable_key: provisioned.publishableKey,
      forwarding_secret: provisioned.forwardingSecret,
      destination_id: provisioned.destinationId,
      simulator_url: readDemoCredentials(settings)?.simulator_url ?? null,
      workspace_id: workspaceId,
      ad_account_id: null,
      owner_email: owner ?? null,
      owner_password: ownerPassword ?? null,
      execution_token: null,
    })
    tell(`Credentials of workspace ${workspaceId} are in ${path}\n`)
  } finally {
    await store.close()
  }
}

/** Whoever runs this knows the password; the owner chooses another before anything else. */
function createOwner(
  { database }: Store,
  owner: { workspaceId: number; email: string; at: Date },
): Promise<string | null> {
  return provisionOwner(database, { ...owner, mustChangePassword: true })
}

interface ProvisionCommand {
  path: string
  workspaceName: string
  /** Undefined: nobody, and nobody can sign in to the workspace. */
  owner: string | undefined
  origins: string[]
  /** Undefined: a destination for the simulator. */
  connection: DatasetOptions | undefined
}

interface DatasetOptions {
  config: TargetConfig
  /** A path, or `-` for standard input. */
  tokenFrom: string
}

function parseProvisionCommand(argumentList: readonly string[]): ProvisionCommand {
  const { out, name, owner: address, origin, dataset, ...rest } = parseOptions(argumentList)
  const tokenFrom = rest['token-from']
  const owner = address === undefined ? undefined : parseEmailAddress(address)
  if (owner === null) throw new StartError(USAGE)
  if (!out || !dataset !== !tokenFrom) throw new StartError(USAGE)
  const connection = dataset && tokenFrom ? { config: readDataset(dataset), tokenFrom } : undefined
  const origins = requireOrigins(origin)
  return { path: resolve(out), workspaceName: name, owner, origins, connection }
}

function parseOptions(argumentList: readonly string[]) {
  try {
    return parseArgs({
      args: [...argumentList],
      options: {
        out: { type: 'string' },
        name: { type: 'string', default: 'Workspace' },
        owner: { type: 'string' },
        origin: { type: 'string', multiple: true, default: [] },
        dataset: { type: 'string' },
        'token-from': { type: 'string' },
      },
    }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}

/** Before anything is made: a token that cannot be read leaves no half of a workspace behind. */
async function connectedTo({ config, tokenFrom }: DatasetOptions): Promise<ConnectedDestination> {
  const accessToken = await readPlatformToken(tokenFrom, process.stdin)
  return { platform: createOfflinePlatforms().default.name, config, accessToken }
}

/** The running service wrote where it listens; without its file, the settings must say it. */
function baseUrl(settings: Settings): string {
  if (settings.publicOrigin) return `${settings.publicOrigin}${BASE_PATH}`
  return (
    readDemoCredentials(settings)?.base_url ??
    `http://${settings.host}:${settings.port}${BASE_PATH}`
  )
}

function readDemoCredentials({ dataDirectory }: Settings): StoredCredentials | null {
  return readCredentialsFile(join(dataDirectory, 'credentials.json'))
}
