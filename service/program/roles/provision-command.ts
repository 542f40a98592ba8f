import { join, resolve } from 'node:path'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { DestinationRouting } from '@signalbox/contract/routing.ts'
import { Command } from 'commander'
import type { Settings } from '../../runtime/settings/settings.ts'
import { validateRouting } from '../../signals/delivery/routing.ts'
import type { TargetConfig } from '../../signals/platforms/platform.ts'
import { createOfflinePlatforms, type PlatformRegistry } from '../../signals/platforms/registry.ts'
import { parseEmailAddress } from '../../workspaces/users/user-input.ts'
import {
  readCredentialsFile,
  readPlatformToken,
  reserveCredentialsFile,
  type StoredCredentials,
  writeCredentialsFile,
} from '../provisioning/credentials-file.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { provisionOwner } from '../provisioning/provision-owner.ts'
import { type ConnectedDestination, provisionTracker } from '../provisioning/provision-tracker.ts'
import { runOnStore, type Store } from './open-store.ts'
import {
  collectOrigin,
  collectTargetMember,
  parseChoiceOf,
  parseDataset,
  SHARING_MEANING,
} from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'
import { asStartError, readRoutingFile } from './routing-command.ts'

/** Creates a workspace with a tracker and a destination, and writes their credentials to a file. */
export async function runProvision(
  context: RoleContext,
  request: ProvisionRequest,
  platforms = createOfflinePlatforms(),
): Promise<void> {
  const { settings, now, printStatus } = context
  const { path, workspaceName, owner, origins, sharesPageIds, connection } = request
  const routing = await readRouting(request)
  // Before anything is created: a token that cannot be read leaves no half of a workspace behind.
  const connected = connection && (await readConnection(context, connection, platforms))
  await runOnStore(context, 'provision', async store => {
    const { database } = store
    const credentialKeys = loadCredentialKeys(settings)
    const releaseFile = reserveCredentialsFile(path)
    const provisioned = await provisionTracker(database, {
      workspaceName,
      origins,
      sharesPageIds,
      at: now(),
      credentialKeys,
      logger: context.logger,
      connected,
      ...(routing && { routing }),
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
    if (connected) printStatus(TOKEN_NOT_CHECKED)
  })
}

/** Validated before anything is created. */
async function readRouting({
  routingFrom,
  connection,
}: ProvisionRequest): Promise<DestinationRouting | null> {
  if (routingFrom === undefined) return null
  const platforms = createOfflinePlatforms()
  const name = connection?.platform ?? platforms.default.name
  const input = await readRoutingFile(routingFrom)
  return asStartError(async () => validateRouting(input, platforms.find(name)))
}

/** Commands never call a platform: they run where only the store can be reached. */
const TOKEN_NOT_CHECKED =
  'The token is not checked yet: the platform checks it with the first event, or with a test ' +
  'purchase.\n'

async function readConnection(
  { standardInput }: RoleContext,
  { tokenFrom, ...target }: ConnectionRequest,
  platforms: PlatformRegistry,
): Promise<ConnectedDestination> {
  const platform = platforms.find(target.platform) ?? platforms.default
  const accessToken = await readPlatformToken(tokenFrom, standardInput, platform)
  return { ...target, accessToken }
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
  sharesPageIds: boolean
  /** Undefined: a destination for the simulator. */
  connection: ConnectionRequest | undefined
  /** The path of a JSON file; undefined: every event under its own name. */
  routingFrom: string | undefined
}

interface ConnectionRequest {
  /** The platform's name. */
  platform: string
  config: TargetConfig
  /** A path, or `-` for standard input. */
  tokenFrom: string
}

export function defineProvisionCommand(
  handle: (request: ProvisionRequest) => Promise<void>,
  platforms = createOfflinePlatforms(),
): Command {
  const names = platforms.all.map(({ name }) => name)
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
    .option(
      '--share-page-ids <on|off>',
      'whether pages share event IDs with the back end; must be said with --origin',
      parseChoiceOf('--share-page-ids', ['on', 'off']),
    )
    .option('--dataset <digits>', 'dataset ID to send to; the simulator by default', parseDataset)
    .option(
      '--platform <name>',
      `platform of the destination: ${names.join(', ')}; the first by default`,
      parseChoiceOf('--platform', names),
    )
    .option(
      '--target <name=value>',
      'where to send on a platform without datasets; may repeat',
      collectTargetMember,
      {},
    )
    .option(
      '--token-from <file>',
      'file that holds the token of the dataset, or - for standard input',
    )
    .option('--routing <file>', 'JSON file: which events are sent, and under which names')
    .action((options: ProvisionOptions) => handle(readRequest(platforms, options)))
}

interface ProvisionOptions {
  out: string
  name: string
  owner?: string
  origin: string[]
  sharePageIds?: string
  dataset?: TargetConfig
  platform?: string
  target: TargetConfig
  tokenFrom?: string
  routing?: string
}

function readRequest(platforms: PlatformRegistry, options: ProvisionOptions): ProvisionRequest {
  const { out, name, owner, origin, sharePageIds } = options
  if (origin.length > 0 && sharePageIds === undefined) throw new StartError(ASK_SHARING)
  const connection = readConnectionRequest(platforms, options)
  const sharesPageIds = sharePageIds === 'on'
  return {
    path: resolve(out),
    workspaceName: name,
    owner,
    origins: origin,
    sharesPageIds,
    connection,
    routingFrom: options.routing,
  }
}

const ASK_SHARING = `With --origin, say --share-page-ids on or off. ${SHARING_MEANING}`

function readConnectionRequest(
  platforms: PlatformRegistry,
  { dataset, target, tokenFrom, platform = platforms.default.name }: ProvisionOptions,
): ConnectionRequest | undefined {
  const config = { ...dataset, ...target }
  const hasTarget = Object.keys(config).length > 0
  if (!hasTarget && tokenFrom === undefined && platform === platforms.default.name) return undefined
  if (!hasTarget || tokenFrom === undefined) {
    const option = platform === platforms.default.name ? '--dataset' : '--target'
    throw new StartError(`${option} and --token-from need each other: name both, or neither.`)
  }
  if (platforms.find(platform)?.parseTarget(config) != null) return { platform, config, tokenFrom }
  throw new StartError(
    `The platform ${platform} cannot send to ${JSON.stringify(config)}: name the members of its ` +
      'target with --target.',
  )
}

function parseOwner(text: string): string {
  const address = parseEmailAddress(text)
  if (address !== null) return address
  throw new StartError(`--owner takes an email address, not ${text}.`)
}
