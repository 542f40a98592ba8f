import { parseArgs } from 'node:util'
import { resignHeads } from '../audit/sign-heads.ts'
import { deriveAuditKeys } from '../audit/signed-head.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import {
  everyDestination,
  findDestinationsOfId,
  resealCredentials,
  setCredential,
} from '../delivery/credential-store.ts'
import { formatTarget } from '../delivery/destination-resource.ts'
import type { Destination } from '../delivery/destination-store.ts'
import { type CredentialKeys, openCredential } from '../delivery/sealed-credential.ts'
import { resealErasureKey } from '../erasure/erasure-key-store.ts'
import type { TargetConfig } from '../platforms/platform.ts'
import { createOfflinePlatforms } from '../platforms/registry.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { readPlatformToken, rejectTokenArgument } from '../provisioning/platform-token.ts'
import { openStore } from './open-store.ts'
import { type RoleContext, StartError } from './role.ts'

type SetCommand = Extract<CredentialCommand, { kind: 'set' }>

/** Looks after the platform credentials of a store: lists them, sets one, changes their key. */
export async function runCredential(
  context: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  rejectTokenArgument(argumentList)
  const command = parseCredentialCommand(argumentList)
  const { settings, logger } = context
  const store = await openStore({ settings, logger, role: 'credential', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    const work = {
      ...context,
      database: store.database,
      keys: loadCredentialKeys(settings, 'fail'),
    }
    switch (command.kind) {
      case 'list':
        return await listCredentials(work)
      case 'reseal':
        return await resealAll(work)
      case 'set':
        return await setDestinationCredential(work, command)
    }
  } finally {
    await store.close()
  }
}

interface CommandContext extends RoleContext {
  database: Database
  keys: CredentialKeys
}

async function listCredentials({
  database,
  keys,
  printStatus: tell,
}: CommandContext): Promise<void> {
  tell(CREDENTIAL_TABLE_HEADER)
  for await (const destination of everyDestination(database)) {
    tell(formatCredentialRow(keys, destination))
  }
}

async function resealAll({ database, keys, printStatus: tell }: CommandContext): Promise<void> {
  const { alreadyCurrent, resealed, unreadable } = await resealCredentials(database, keys)
  tell(`Already under the current key: ${alreadyCurrent}\nResealed: ${resealed}\n`)
  if (unreadable.length > 0) {
    tell(`Opened by no key: ${unreadable.length}\n${unreadable.map(id => `  ${id}\n`).join('')}`)
  }
  if (await resealErasureKey(database, keys)) tell('Resealed the key of erased identifiers.\n')
  const { resigned, unsigned } = await resignHeads(database, deriveAuditKeys(keys))
  if (resigned > 0) tell(`Audit logs signed anew: ${resigned}\n`)
  for (const id of unsigned) tell(`The audit log of workspace ${id} is signed by no key here.\n`)
  if (unreadable.length === 0) return
  throw new StartError(
    'Not every credential could be opened: add the key that sealed it to ' +
      'SIGNALBOX_CREDENTIAL_KEY_PREVIOUS, or set a new credential.',
  )
}

async function setDestinationCredential(
  { database, keys, now, printStatus: tell }: CommandContext,
  command: SetCommand,
): Promise<void> {
  const destination = await findDestination(database, command)
  const { trackerId, id: destinationId, sealedCredential } = destination
  const accessToken = await readPlatformToken(command.tokenFrom, process.stdin)
  const { config } = command
  await setCredential(database, keys, {
    trackerId,
    destinationId,
    accessToken,
    config,
    at: now(),
  })
  tell(`Destination ${destinationId} has its new credential; what waits for it goes out.\n`)
  if (openCredential(keys, destinationId, sealedCredential)) return
  tell('No key here opened its former one: make sure that the workers have the same key.\n')
}

async function findDestination(
  database: Database,
  { destinationId, trackerId }: SetCommand,
): Promise<Destination> {
  const [found, another] = await findDestinationsOfId(database, { id: destinationId, trackerId })
  if (!found) throw new StartError(`There is no destination ${destinationId} here.`)
  if (another) {
    throw new StartError(`Several trackers have a destination ${destinationId}: add --tracker ID.`)
  }
  return found
}

/** What `credential` is asked to do. */
export type CredentialCommand =
  | { kind: 'list' }
  | { kind: 'reseal' }
  | {
      kind: 'set'
      destinationId: string
      /** Null: whichever tracker has the destination. */
      trackerId: string | null
      /** What changes of where it sends; nothing when empty. */
      config: TargetConfig
      /** A path, or `-` for standard input. */
      tokenFrom: string
    }

const USAGE =
  'Usage: npm run credential -- list | reseal | ' +
  'set --destination ID [--tracker ID] [--dataset DIGITS] --from FILE|-'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Throws a StartError: how the command is used, or which option is wrong. */
export function parseCredentialCommand([kind, ...rest]: readonly string[]): CredentialCommand {
  switch (kind) {
    case 'list':
    case 'reseal':
      if (rest.length > 0) throw new StartError(USAGE)
      return { kind }
    case 'set':
      return parseSetCommand(rest)
    default:
      throw new StartError(USAGE)
  }
}

/**
 * Reads `--dataset`, where a destination of the default platform sends. Throws a StartError for
 * what is no dataset ID.
 */
export function readDataset(option: string): TargetConfig {
  const config = { dataset_id: option }
  if (createOfflinePlatforms().default.parseTarget(config) !== null) return config
  throw new StartError(`--dataset takes the digits of a dataset id, not ${option}.`)
}

function parseSetCommand(options: string[]): CredentialCommand {
  const { destination, tracker, dataset, from } = parseSetOptions(options)
  if (!destination || !from) throw new StartError(USAGE)
  return {
    kind: 'set',
    destinationId: requireId('--destination', destination),
    trackerId: tracker === undefined ? null : requireId('--tracker', tracker),
    config: dataset === undefined ? {} : readDataset(dataset),
    tokenFrom: from,
  }
}

function parseSetOptions(options: string[]) {
  try {
    return parseArgs({
      args: options,
      options: {
        destination: { type: 'string' },
        tracker: { type: 'string' },
        dataset: { type: 'string' },
        from: { type: 'string' },
      },
    }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}

/** Throws a StartError for what cannot be an id of ours. */
export function requireId(option: string, id: string): string {
  if (UUID.test(id)) return id.toLowerCase()
  throw new StartError(`${option} takes an id as "npm run credential -- list" shows it, not ${id}.`)
}

/** Ids have one length, and no dataset ID is longer than this. */
const WIDTHS = [36, 36, 20, 8, 8]
const REASON_CHARACTERS_MAX = 200

export const CREDENTIAL_TABLE_HEADER = formatRow([
  'DESTINATION',
  'TRACKER',
  'TARGET',
  'STATUS',
  'KEY',
  'REASON',
])

/** One destination in columns: where it sends, whether it works, and which key opens it. */
export function formatCredentialRow(keys: CredentialKeys, destination: Destination): string {
  const { id, trackerId, config, status, statusReason, sealedCredential } = destination
  const key = openCredential(keys, id, sealedCredential)?.key ?? 'none'
  return formatRow([
    id,
    trackerId,
    formatTarget(config),
    status,
    key,
    stripControlCharacters(statusReason ?? ''),
  ])
}

function formatRow(cells: readonly string[]): string {
  return `${cells
    .map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0))
    .join('  ')
    .trimEnd()}\n`
}

/** The reason is the platform's text: it must neither break the line nor steer the terminal. */
function stripControlCharacters(text: string): string {
  return text.replaceAll(/\p{C}+/gu, ' ').slice(0, REASON_CHARACTERS_MAX)
}
