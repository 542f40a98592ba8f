import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import { requireCurrentSchema } from '../db/migrate.ts'
import { insertClient, listDeviceClients } from '../oauth/client-store.ts'
import { parseDisplayName } from '../oauth/display-name.ts'
import { openStore } from './open-store.ts'
import { type RoleContext, StartError } from './role.ts'

/**
 * Looks after the clients that may use the device grant: programs without a browser, which whoever
 * runs the installation knows. Their id is public; they have no secret.
 */
export async function runClient(
  { settings, logger, now, printStatus: tell }: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  const command = parseClientCommand(argumentList)
  const store = await openStore({ settings, logger, role: 'client', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    if (command.task === 'list') {
      const clients = await listDeviceClients(store.database)
      for (const { client_id, name, approved_at } of clients) {
        tell(`${client_id}  ${approved_at === null ? 'never approved' : 'approved'}  ${name}\n`)
      }
      return
    }
    const { name } = command
    const clientId = randomUUID()
    const client = { clientId, kind: 'device', name, redirectUris: [] } as const
    await insertClient(store.database, { ...client, redirectUris: [] }, now())
    tell(`The device client ${name} has the client_id ${clientId}. It is no secret.\n`)
  } finally {
    await store.close()
  }
}

/** What `client` is asked to do. */
export type ClientCommand = { task: 'list' } | { task: 'add'; name: string }

const USAGE = 'Usage: npm run client -- list | add --name NAME'
const NAME_CHARACTERS_MAX = 100

/** Throws a StartError: how the command is used, or what is wrong with the name. */
export function parseClientCommand([task, ...rest]: readonly string[]): ClientCommand {
  const { name } = parseOptions(rest)
  if (task === 'list' && name === undefined) return { task }
  if (task !== 'add' || name === undefined) throw new StartError(USAGE)
  const line = parseDisplayName(name, NAME_CHARACTERS_MAX)
  if (line !== null) return { task, name: line }
  throw new StartError(
    `--name takes one visible line of at most ${NAME_CHARACTERS_MAX} characters.`,
  )
}

function parseOptions(list: string[]) {
  try {
    return parseArgs({ args: list, options: { name: { type: 'string' } } }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}
