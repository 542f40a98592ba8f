import type { DestinationRouting } from '@signalbox/contract/routing.ts'
import { Command } from 'commander'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import type { Database } from '../../runtime/db/database.ts'
import { changeDestination } from '../../signals/delivery/change-destination.ts'
import { createDestination, formatTarget } from '../../signals/delivery/destination-resource.ts'
import { validateRouting } from '../../signals/delivery/routing.ts'
import type { Platform } from '../../signals/platforms/platform.ts'
import { createOfflinePlatforms, type PlatformRegistry } from '../../signals/platforms/registry.ts'
import { parseName } from '../../workspaces/users/user-input.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import type { ConnectedDestination } from '../provisioning/provision-tracker.ts'
import {
  addConnectionOptions,
  type ConnectionOptions,
  type ConnectionRequest,
  describePlatforms,
  readConnection,
  readConnectionRequest,
  refuseSimulatorTarget,
  TOKEN_NOT_CHECKED,
} from './connection-options.ts'
import { runOnStore } from './open-store.ts'
import {
  findOnlyTracker,
  findTrackerArgument,
  parseDestination,
  parseTracker,
  type TrackerReference,
} from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'
import { asStartError, readRoutingFile } from './routing-command.ts'

export type DestinationRequest = { task: 'platforms' } | ConnectRequest | ChangeRequest

interface ChangeRequest {
  task: 'change'
  destinationId: string
  /** Null: the only tracker of the store. */
  tracker: TrackerReference | null
  change: { isPaused: boolean } | { name: string }
}

interface ConnectRequest {
  task: 'connect'
  /** Null: the only tracker of the store. */
  tracker: TrackerReference | null
  /** What only a simulator takes, of the platform with this name; or a real target. */
  connection: ConnectionRequest | { simulated: string }
  /** The path of a JSON file; null: every event under its own name. */
  routingFrom: string | null
}

/** Connects, pauses, resumes or renames a destination, or says what each platform asks for. */
export async function runDestination(
  context: RoleContext,
  request: DestinationRequest,
  platforms = createOfflinePlatforms(),
): Promise<void> {
  if (request.task === 'platforms') context.printOutput(describePlatforms(platforms))
  else if (request.task === 'change') await runChange(context, request)
  else await runConnect(context, request, platforms)
}

async function runChange(
  context: RoleContext,
  { tracker: reference, destinationId, change }: ChangeRequest,
): Promise<void> {
  const { settings, logger, now, printStatus } = context
  await runOnStore(context, 'destination', async ({ database }) => {
    const keys = deriveAuditKeys(loadCredentialKeys(settings, 'fail'))
    const audited = { database, audit: createAuditTrail(keys, logger) }
    const tracker = await findTrackerOf(database, reference)
    const actor = { type: 'operator', id: null } as const
    const changed = await asStartError(() =>
      changeDestination(audited, { tracker, destinationId, ...change, actor, at: now() }),
    )
    const state = changed.pausedAt ? 'paused by a person' : changed.status
    printStatus(`${changed.name ?? `Destination ${changed.id}`} is ${state}.\n`)
  })
}

function findTrackerOf(database: Database, reference: TrackerReference | null) {
  return reference ? findTrackerArgument(database, reference) : findOnlyTracker(database)
}

async function runConnect(
  context: RoleContext,
  { tracker: reference, connection, routingFrom }: ConnectRequest,
  platforms: PlatformRegistry,
): Promise<void> {
  const { settings, logger, now, printStatus } = context
  const isSimulated = 'simulated' in connection
  const name = isSimulated ? connection.simulated : connection.platform
  const platform = platforms.find(name) ?? platforms.default
  if (isSimulated) refuseSimulatorTarget(settings, platform)
  const connected = isSimulated
    ? simulatedDestination(platform)
    : await readConnection(context, connection, platforms)
  const routing = routingFrom === null ? null : await readRouting(routingFrom, platform)
  await runOnStore(context, 'destination', async ({ database }) => {
    const credentialKeys = loadCredentialKeys(settings, 'fail')
    const audit = createAuditTrail(deriveAuditKeys(credentialKeys), logger)
    const tracker = await findTrackerOf(database, reference)
    const { config, accessToken } = connected
    const target = { platform, config, accessToken, platformAdAccountId: null }
    const actor = { type: 'operator', id: null } as const
    const created = await asStartError(() =>
      createDestination(
        { database, audit, credentialKeys },
        { ...target, tracker, actor, at: now(), ...(routing && { routing }) },
      ),
    )
    printStatus(
      `Connected ${platform.label} ${formatTarget(config)} as destination ${created.id}. ` +
        'It gets the events that are accepted from now on.\n',
    )
    if (platform.conversionTargets && !routing?.event_names) printStatus(askForMap(platform))
    if (!isSimulated) printStatus(TOKEN_NOT_CHECKED)
  })
}

function simulatedDestination(platform: Platform): ConnectedDestination {
  const { config, credential: accessToken } = platform.createSimulatorDestination()
  return { platform: platform.name, config, accessToken }
}

async function readRouting(path: string, platform: Platform): Promise<DestinationRouting> {
  const input = await readRoutingFile(path)
  return asStartError(async () => validateRouting(input, platform))
}

function askForMap({ label, conversionTargets: map }: Platform): string {
  return (
    `${label} gets only the events that its map names (${map?.label}: ${map?.hint}) ` +
    'Set it with "signalbox-server routing set", or in the dashboard.\n'
  )
}

export function defineDestinationCommand(
  handle: (request: DestinationRequest) => Promise<void>,
  platforms = createOfflinePlatforms(),
): Command {
  const command = new Command()
  command
    .command('platforms')
    .description('list the platforms, what each one asks for, and where it shows that')
    .action(() => handle({ task: 'platforms' }))
  const connect = command
    .command('connect')
    .description('send the events of a tracker to one more platform')
    .option(
      '--tracker <id>',
      'ID of the tracker or of its workspace; the only tracker by default',
      parseTracker,
    )
    .option('--simulator', 'connect to the simulator, which needs no target and no token')
    .option('--routing <file>', 'JSON file: which events are sent, and under which names')
  for (const [task, text] of [
    ['pause', 'let the events of a destination wait until it is resumed'],
    ['resume', 'send what waits for a destination that a person paused'],
  ] as const) {
    addChangeOptions(command.command(task).description(text)).action((options: ChangeOptions) =>
      handle(toChangeRequest(options, { isPaused: task === 'pause' })),
    )
  }
  addChangeOptions(command.command('rename').description('name a destination'))
    .requiredOption('--name <name>', 'what people call it', parseDestinationName)
    .action((options: ChangeOptions & { name: string }) =>
      handle(toChangeRequest(options, { name: options.name })),
    )
  addConnectionOptions(connect, platforms).action((options: ConnectOptions) =>
    handle({
      task: 'connect',
      tracker: options.tracker ?? null,
      connection: readConnectOptions(platforms, options),
      routingFrom: options.routing ?? null,
    }),
  )
  return command
}

interface ChangeOptions {
  destination: string
  tracker?: TrackerReference
}

function addChangeOptions(command: Command): Command {
  return command
    .requiredOption('--destination <id>', 'ID of the destination', parseDestination)
    .option('--tracker <id>', 'ID of its tracker; the only one by default', parseTracker)
}

function toChangeRequest(
  { destination: destinationId, tracker }: ChangeOptions,
  change: ChangeRequest['change'],
): ChangeRequest {
  return { task: 'change', destinationId, tracker: tracker ?? null, change }
}

function parseDestinationName(text: string): string {
  const name = parseName(text)
  if (name !== null) return name
  throw new StartError(`--name takes a visible name without links, not ${text}.`)
}

interface ConnectOptions extends ConnectionOptions {
  tracker?: TrackerReference
  simulator?: true
  routing?: string
}

function readConnectOptions(
  platforms: PlatformRegistry,
  options: ConnectOptions,
): ConnectRequest['connection'] {
  if (options.platform === undefined && options.dataset === undefined) {
    const names = platforms.all.map(({ name }) => name).join(', ')
    throw new StartError(`--platform is required: ${names}.`)
  }
  const { platform = platforms.default.name, simulator, dataset, target, tokenFrom } = options
  if (!simulator) return readConnectionRequest(platforms, options)
  const isGiven = dataset !== undefined || tokenFrom !== undefined
  if (isGiven || Object.keys(target).length > 0) {
    throw new StartError('--simulator needs no target and no token: leave them out.')
  }
  return { simulated: platform }
}
