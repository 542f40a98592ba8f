import { storedText } from '@signalbox/contract/closed-set.ts'
import { Command } from 'commander'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import { resignHeads } from '../../audit/verify-chains.ts'
import type { Database } from '../../runtime/db/database.ts'
import { type CredentialKeys, openCredential } from '../../runtime/util/sealed-credential.ts'
import {
  everyDestination,
  findDestinationsOfId,
  resealCredentials,
  setCredential,
} from '../../signals/delivery/credential-store.ts'
import { formatTarget } from '../../signals/delivery/destination-resource.ts'
import type { Destination } from '../../signals/delivery/destination-store.ts'
import { resealErasureKey } from '../../signals/erasure/erasure-store.ts'
import type { TargetConfig } from '../../signals/platforms/platform.ts'
import { createOfflinePlatforms } from '../../signals/platforms/registry.ts'
import { resealWebhooks } from '../../workspaces/notifications/settings-store.ts'
import { readPlatformToken } from '../provisioning/credentials-file.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { runOnStore } from './open-store.ts'
import {
  findTrackerArgument,
  parseDataset,
  parseDestination,
  parseTracker,
  type TrackerReference,
} from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'
import { formatTable, stripControlCharacters } from './terminal-table.ts'

/** Lists the platform credentials of a store, sets one, or reseals all under the current key. */
export async function runCredential(
  context: RoleContext,
  request: CredentialRequest,
): Promise<void> {
  const { settings } = context
  await runOnStore(context, 'credential', async ({ database }) => {
    const command = { ...context, database, keys: loadCredentialKeys(settings, 'fail') }
    switch (request.task) {
      case 'list':
        return await listCredentials(command)
      case 'reseal':
        return await resealAll(command)
      case 'set':
        return await setDestinationCredential(command, request)
    }
  })
}

interface CommandContext extends RoleContext {
  database: Database
  keys: CredentialKeys
}

/** Row by row: a large store has more destinations than a command should hold. */
async function listCredentials({ database, keys, printStatus }: CommandContext): Promise<void> {
  printStatus(CREDENTIAL_TABLE_HEADER)
  for await (const destination of everyDestination(database)) {
    printStatus(formatCredentialRow(keys, destination))
  }
}

async function resealAll({ database, keys, printStatus }: CommandContext): Promise<void> {
  const { alreadyCurrent, resealed, unreadable } = await resealCredentials(database, keys)
  printStatus(`Already under the current key: ${alreadyCurrent}\nResealed: ${resealed}\n`)
  if (unreadable.length > 0) {
    const ids = unreadable.map(id => `  ${id}\n`).join('')
    printStatus(`Not opened by any key: ${unreadable.length}\n${ids}`)
  }
  if (await resealErasureKey(database, keys)) {
    printStatus('Resealed the key of erased identifiers.\n')
  }
  const webhooks = await resealWebhooks(database, keys)
  if (webhooks.resealed > 0) printStatus(`Resealed webhooks: ${webhooks.resealed}\n`)
  for (const id of webhooks.unreadable) {
    printStatus(`The webhook of workspace ${id} is not opened by any key here.\n`)
  }
  const { resigned, unsigned } = await resignHeads(database, deriveAuditKeys(keys))
  if (resigned > 0) printStatus(`Audit logs signed again: ${resigned}\n`)
  for (const id of unsigned) {
    printStatus(`The audit log of workspace ${id} is not signed by any key here.\n`)
  }
  if (unreadable.length === 0 && webhooks.unreadable.length === 0) return
  throw new StartError(
    'Not every credential could be opened: add the key that sealed it to ' +
      'SIGNALBOX_CREDENTIAL_KEY_PREVIOUS, or set a new credential.',
  )
}

async function setDestinationCredential(
  { database, keys, now, logger, printStatus, standardInput }: CommandContext,
  request: SetRequest,
): Promise<void> {
  const destination = await findDestination(database, request)
  const { trackerId, id: destinationId, sealedCredential } = destination
  const { config } = request
  requireConfigMembers(destination, config)
  const platforms = createOfflinePlatforms()
  const platform = platforms.find(destination.platform) ?? platforms.default
  const accessToken = await readPlatformToken(request.tokenFrom, standardInput, platform)
  const { workspaceId } = await findTrackerArgument(database, { trackerId })
  const audit = createAuditTrail(deriveAuditKeys(keys), logger)
  const actor = { type: 'operator', id: null } as const
  const change = { workspaceId, trackerId, destinationId, accessToken, config, actor, at: now() }
  await setCredential({ database, audit }, keys, change)
  printStatus(
    `The new credential of destination ${destinationId} is set; waiting events are sent now.\n`,
  )
  if (openCredential(keys, destinationId, sealedCredential)) return
  printStatus(
    'No key here opens the previous credential: make sure that the workers have the same key.\n',
  )
}

/** `--dataset` is for the platforms whose targets have a dataset. */
function requireConfigMembers(destination: Destination, config: TargetConfig): void {
  const unknown = Object.keys(config).find(name => !(name in destination.config))
  if (unknown === undefined) return
  throw new StartError(
    `Destination ${destination.id} sends to ${destination.platform}, which has no ${unknown}.`,
  )
}

async function findDestination(
  database: Database,
  { destinationId: id, tracker }: SetRequest,
): Promise<Destination> {
  const trackerId = tracker && (await findTrackerArgument(database, tracker)).trackerId
  const [found, another] = await findDestinationsOfId(database, { id, trackerId })
  if (!found) throw new StartError(`There is no destination ${id} here.`)
  if (another) {
    throw new StartError(`Several trackers have a destination ${id}: add --tracker.`)
  }
  return found
}

export type CredentialRequest = { task: 'list' } | { task: 'reseal' } | SetRequest

interface SetRequest {
  task: 'set'
  destinationId: string
  /** Null: any tracker that has the destination. */
  tracker: TrackerReference | null
  /** What changes of its target; empty: nothing. */
  config: TargetConfig
  /** A path, or `-` for standard input. */
  tokenFrom: string
}

export function defineCredentialCommand(
  handle: (request: CredentialRequest) => Promise<void>,
): Command {
  const command = new Command()
  command
    .command('list')
    .description('list the destinations, their status, and the key that opens each credential')
    .action(() => handle({ task: 'list' }))
  command
    .command('reseal')
    .description('encrypt all credentials under the current key')
    .action(() => handle({ task: 'reseal' }))
  command
    .command('set')
    .description('set the credential of a destination')
    .requiredOption(
      '--destination <id>',
      'ID of the destination, as list shows it',
      parseDestination,
    )
    .requiredOption('--from <file>', 'file that holds the token, or - for standard input')
    .option('--tracker <id>', 'ID of the tracker or of its workspace', parseTracker)
    .option('--dataset <digits>', 'dataset ID to send to from now on', parseDataset)
    .action(({ destination, from, tracker, dataset = {} }: SetOptions) =>
      handle({
        task: 'set',
        destinationId: destination,
        tracker: tracker ?? null,
        config: dataset,
        tokenFrom: from,
      }),
    )
  return command
}

interface SetOptions {
  destination: string
  from: string
  tracker?: TrackerReference
  dataset?: TargetConfig
}

/** IDs have one length, and no dataset ID is longer than 20 digits. */
const COLUMNS = [36, 36, 20, 8, 8].map(width => ({ width }))
const REASON_CHARACTERS_MAX = 200

export const CREDENTIAL_TABLE_HEADER = formatTable(
  [['DESTINATION', 'TRACKER', 'TARGET', 'STATUS', 'KEY', 'REASON']],
  { columns: COLUMNS },
)

/** One destination: where it sends, whether it works, and which key opens its credential. */
export function formatCredentialRow(keys: CredentialKeys, destination: Destination): string {
  const { id, trackerId, config, status, statusReason, sealedCredential } = destination
  const key = openCredential(keys, id, sealedCredential)?.key ?? 'none'
  const reason = stripControlCharacters(statusReason ?? '').slice(0, REASON_CHARACTERS_MAX)
  const row = [id, trackerId, formatTarget(config), storedText(status), key, reason]
  return formatTable([row], { columns: COLUMNS })
}
