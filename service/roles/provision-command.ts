import { join, resolve } from 'node:path'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { Command } from 'commander'
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
import { readPlatformToken } from '../provisioning/platform-token.ts'
import { provisionOwner } from '../provisioning/provision-owner.ts'
import { type ConnectedDestination, provisionTracker } from '../provisioning/provision-tracker.ts'
import type { Settings } from '../settings/settings.ts'
import { runOnStore, type Store } from './open-store.ts'
import { collectOrigin, parseDataset } from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'

/** Creates a workspace with a tracker and a destination, and writes their credentials to a file. */
export async function runProvision(context: RoleContext, request: ProvisionRequest): Promise<void> {
  const { settings, now, printStatus } = context
  const { path, workspaceName, owner, origins, connection } = request
  // Before anything is created: a token that cannot be read leaves no half of a workspace behind.
  const connected = connection && (await readConnection(context, connection))
  await runOnStore(context, 'provision', async store => {
    const { database } = store
    const credentialKeys = loadCredentialKeys(settings)
    const releaseFile = reserveCredentialsFile(path)
    const provisioned = await provisionTracker(database, {
      workspaceName,
      origins,
      at: now(),
      credentialKeys,
      connected,
    }).catch(error => {
      releaseFile()
      throw error
    })
    const { workspaceId } = provisioned
    const ownerPassword =
      owner && (await createOwner(store, { workspaceId, email: owner, at: now() }))
    writeCredentialsFile(path, {
      base_url: findBaseUrl(settings),
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
    printStatus(`The credentials of workspace ${workspaceId} are in ${path}\n`)
  })
}

async function readConnection(
  { standardInput }: RoleContext,
  { config, tokenFrom }: ConnectionRequest,
): Promise<ConnectedDestination> {
  const accessToken = await readPlatformToken(tokenFrom, standardInput)
  return { platform: createOfflinePlatforms().default.name, config, accessToken }
}

/** The operator knows this password, so the owner has to choose another one first. */
function createOwner(
  { database }: Store,
  owner: { workspaceId: number; email: string; at: Date },
): Promise<string | null> {
  return provisionOwner(database, { ...owner, mustChangePassword: true })
}

/** The running service wrote its address to a file; without it, the settings decide. */
function findBaseUrl(settings: Settings): string {
  if (settings.publicOrigin) return `${settings.publicOrigin}${BASE_PATH}`
  return (
    readDemoCredentials(settings)?.base_url ??
    `http://${settings.host}:${settings.port}${BASE_PATH}`
  )
}

function readDemoCredentials({ dataDirectory }: Settings): StoredCredentials | null {
  return readCredentialsFile(join(dataDirectory, 'credentials.json'))
}

export interface ProvisionRequest {
  path: string
  workspaceName: string
  /** Undefined: the workspace has no users, and nobody can sign in to it. */
  owner: string | undefined
  origins: string[]
  /** Undefined: a destination for the simulator. */
  connection: ConnectionRequest | undefined
}

interface ConnectionRequest {
  config: TargetConfig
  /** A path, or `-` for standard input. */
  tokenFrom: string
}

export function defineProvisionCommand(
  handle: (request: ProvisionRequest) => Promise<void>,
): Command {
  return new Command()
    .requiredOption('--out <file>', 'new file to write the credentials to')
    .option('--name <workspace>', 'name of the workspace', 'Workspace')
    .option('--owner <address>', 'email address of its owner', parseOwner)
    .option(
      '--origin <origin>',
      'origin of pages that may send events; may repeat',
      collectOrigin,
      [],
    )
    .option('--dataset <digits>', 'dataset ID to send to; the simulator by default', parseDataset)
    .option(
      '--token-from <file>',
      'file that holds the token of the dataset, or - for standard input',
    )
    .action((options: ProvisionOptions) => handle(readRequest(options)))
}

interface ProvisionOptions {
  out: string
  name: string
  owner?: string
  origin: string[]
  dataset?: TargetConfig
  tokenFrom?: string
}

function readRequest(options: ProvisionOptions): ProvisionRequest {
  const { out, name, owner, origin, dataset, tokenFrom } = options
  if ((dataset === undefined) !== (tokenFrom === undefined)) {
    throw new StartError('--dataset and --token-from need each other: name both, or neither.')
  }
  const connection = dataset && tokenFrom ? { config: dataset, tokenFrom } : undefined
  return { path: resolve(out), workspaceName: name, owner, origins: origin, connection }
}

function parseOwner(text: string): string {
  const address = parseEmailAddress(text)
  if (address !== null) return address
  throw new StartError(`--owner takes an email address, not ${text}.`)
}
