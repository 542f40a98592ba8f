import { randomUUID } from 'node:crypto'
import { requireCurrentSchema } from '../db/migrate.ts'
import { insertClient, listDeviceClients } from '../oauth/client-store.ts'
import { clientCommand } from './client-command.ts'
import { openStore } from './open-store.ts'
import type { RoleContext } from './role.ts'

/**
 * Looks after the clients that may use the device grant: programs without a browser, which whoever
 * runs the installation knows. Their id is public; they have no secret.
 */
export async function runClient(
  { settings, logger, now, tell }: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  const command = clientCommand(argumentList)
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
