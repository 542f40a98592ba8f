import { join, resolve } from 'node:path'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { DestinationRouting } from '@signalbox/contract/routing.ts'
import { Command } from 'commander'
import type { Settings } from '../../runtime/settings/settings.ts'
import { validateRouting } from '../../signals/delivery/routing.ts'
import { createOfflinePlatforms, type PlatformRegistry } from '../../signals/platforms/registry.ts'
import { parseEmailAddress } from '../../workspaces/users/user-input.ts'
import {
  readCredentialsFile,
  reserveCredentialsFile,
  type StoredCredentials,
  writeCredentialsFile,
} from '../provisioning/credentials-file.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { provisionOwner } from '../provisioning/provision-owner.ts'
import { provisionTracker } from '../provisioning/provision-tracker.ts'
import {
  addConnectionOptions,
  type ConnectionOptions,
  type ConnectionRequest,
  readConnection,
  readConnectionRequest,
  refuseSimulatorTarget,
  TOKEN_NOT_CHECKED,
} from './connection-options.ts'
import { runOnStore, type Store } from './open-store.ts'
import { collectOrigin, parseChoiceOf, SHARING_MEANING } from './option-values.ts'
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
  if (!connection) refuseSimulatorTarget(settings, platforms.default)
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
    if (!owner) printStatus(describeOwnerless(workspaceId))
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

function describeOwnerless(workspaceId: number): string {
  return (
    'It has no owner, so no person can open it: "signalbox-server people add-owner ADDRESS ' +
    `--workspace ${workspaceId}" adds one.\n`
  )
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
  /** Undefined, when the operator says so: only programs use the workspace. */
  owner: string | undefined
  origins: string[]
  sharesPageIds: boolean
  /** Undefined: a destination for the simulator. */
  connection: ConnectionRequest | undefined
  /** The path of a JSON file; undefined: every event under its own name. */
  routingFrom: string | undefined
}

export function defineProvisionCommand(
  handle: (request: ProvisionRequest) => Promise<void>,
  platforms = createOfflinePlatforms(),
): Command {
  const command = new Command()
    .requiredOption('--out <file>', 'new file to write the credentials to')
    .option('--name <workspace>', 'name of the workspace', 'Workspace')
    .option('--owner <address>', 'email address of the person who owns it', parseOwner)
    .option('--without-owner', 'no person opens it; "people add-owner" adds one later')
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
    .option('--routing <file>', 'JSON file: which events are sent, and under which names')
  return addConnectionOptions(command, platforms).action((options: ProvisionOptions) =>
    handle(readRequest(platforms, options)),
  )
}

interface ProvisionOptions extends ConnectionOptions {
  out: string
  name: string
  owner?: string
  withoutOwner?: true
  origin: string[]
  sharePageIds?: string
  routing?: string
}

function readRequest(platforms: PlatformRegistry, options: ProvisionOptions): ProvisionRequest {
  const { out, name, owner, withoutOwner, origin, sharePageIds } = options
  if ((owner === undefined) === (withoutOwner === undefined)) throw new StartError(ASK_OWNER)
  if (origin.length > 0 && sharePageIds === undefined) throw new StartError(ASK_SHARING)
  const connection = readConnectionOptions(platforms, options)
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

const ASK_OWNER =
  'Name the person who owns the workspace with --owner ADDRESS: without an owner, no person can ' +
  'open it in the dashboard. Say --without-owner instead if only programs use it; ' +
  '"signalbox-server people add-owner" adds an owner later.'

const ASK_SHARING = `With --origin, say --share-page-ids on or off. ${SHARING_MEANING}`

/** Undefined: nothing is named, so the destination is for the simulator. */
function readConnectionOptions(
  platforms: PlatformRegistry,
  options: ProvisionOptions,
): ConnectionRequest | undefined {
  const { dataset, target, tokenFrom, platform = platforms.default.name } = options
  const isGiven = dataset !== undefined || tokenFrom !== undefined
  const hasTarget = isGiven || Object.keys(target).length > 0
  if (!hasTarget && platform === platforms.default.name) return undefined
  return readConnectionRequest(platforms, options)
}

function parseOwner(text: string): string {
  const address = parseEmailAddress(text)
  if (address !== null) return address
  throw new StartError(`--owner takes an email address, not ${text}.`)
}
