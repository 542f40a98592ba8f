import { randomUUID } from 'node:crypto'
import { Command } from 'commander'
import { insertClient, listDeviceClients } from '../oauth/client-store.ts'
import { parseDisplayName } from '../people/display-name.ts'
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
      printStatus(formatClientTable(await listDeviceClients(database)))
      return
    }
    const { name } = request
    const clientId = randomUUID()
    await insertClient(database, { clientId, kind: 'device', name, redirectUris: [] }, now())
    printStatus(`The device client ${name} has the client_id ${clientId}, which is not a secret.\n`)
  })
}

export type ClientRequest = { task: 'list' } | { task: 'add'; name: string }

type ListedClients = Awaited<ReturnType<typeof listDeviceClients>>

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
    .description('list the clients')
    .action(() => handle({ task: 'list' }))
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
