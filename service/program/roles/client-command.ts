import { randomUUID } from 'node:crypto'
import { Command } from 'commander'
import type { Database } from '../../runtime/db/database.ts'
import { findClient, insertClient, listDeviceClients } from '../../workspaces/oauth/client-store.ts'
import { parseDisplayName } from '../../workspaces/users/user-input.ts'
import { runOnStore } from './open-store.ts'
import { type RoleContext, StartError } from './role.ts'
import { formatTable } from './terminal-table.ts'

/**
 * Lists or adds the clients that may use the device grant: programs without a browser that the
 * operator knows. Their ID is public; they have no secret.
 */
export async function runClient(context: RoleContext, request: ClientRequest): Promise<void> {
  const { now, printStatus } = context
  await runOnStore(context, 'client', async ({ database }) => {
    if (request.task === 'list') {
      await listClients({ ...context, database }, request.after)
      return
    }
    const { name } = request
    const clientId = randomUUID()
    await insertClient(database, { clientId, kind: 'device', name, redirectUris: [] }, now())
    printStatus(`The device client ${name} has the client_id ${clientId}, which is not a secret.\n`)
  })
}

export type ClientRequest = { task: 'list'; after: string | null } | { task: 'add'; name: string }

async function listClients(
  { database, printStatus }: RoleContext & { database: Database },
  after: string | null,
): Promise<void> {
  if (after !== null && !(await findClient(database, after))) {
    throw new StartError(`There is no client ${after}: --after takes a client_id of the list.`)
  }
  const { clients, hasMore } = await listDeviceClients(database, after)
  printStatus(formatClientTable(clients))
  const last = clients.at(-1)
  if (hasMore && last) printStatus(`More clients: add --after ${last.client_id}\n`)
}

type ListedClients = Awaited<ReturnType<typeof listDeviceClients>>['clients']

function formatClientTable(clients: ListedClients): string {
  if (clients.length === 0) return 'No clients.\n'
  const rows = clients.map(({ client_id, name, approved_at }) => [
    client_id,
    approved_at === null ? 'never approved' : 'approved',
    name,
  ])
  return formatTable([['CLIENT ID', 'STATUS', 'NAME'], ...rows])
}

const NAME_CHARACTERS_MAX = 100

export function defineClientCommand(handle: (request: ClientRequest) => Promise<void>): Command {
  const command = new Command()
  command
    .command('list')
    .description('list the clients, approved ones first, then the newest')
    .option('--after <client_id>', 'continue after this client')
    .action(({ after }) => handle({ task: 'list', after: after ?? null }))
  command
    .command('add')
    .description('add a client')
    .requiredOption('--name <name>', 'name that users see when they approve the client', parseName)
    .action(({ name }) => handle({ task: 'add', name }))
  return command
}

function parseName(text: string): string {
  const name = parseDisplayName(text, NAME_CHARACTERS_MAX)
  if (name !== null) return name
  throw new StartError(
    `--name takes one visible line of at most ${NAME_CHARACTERS_MAX} characters.`,
  )
}
