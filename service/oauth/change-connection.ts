import type { Database } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import type { CurrentPerson } from '../people/current-person.ts'
import { requireRole, rowId } from '../people/require-role.ts'
import {
  type ConnectionName,
  type ListedConnection,
  listConnections,
  rebindConnection,
  renameConnection,
  revokeConnection,
} from './connection-store.ts'
import { visibleLine } from './visible-line.ts'

/** Who wants something with the connections of a workspace; ids as they came. */
export interface WorkspaceVisit {
  person: CurrentPerson
  workspaceId: unknown
}

export interface ConnectionVisit extends WorkspaceVisit {
  connectionId: unknown
}

/** The connections of a workspace, for its owners. */
export async function readConnections(
  database: Database,
  { person, workspaceId }: WorkspaceVisit,
): Promise<ListedConnection[]> {
  const action = 'manage_agents'
  const membership = await requireRole(database, person, { workspaceId, action })
  return listConnections(database, membership.workspaceId)
}

/**
 * Members that are undefined stay as they are, and with one that is wrong all do. Throws a Refusal:
 * 403, 404 or 422.
 */
export async function changeConnection(
  database: Database,
  visit: ConnectionVisit,
  { name, adAccountId }: { name: unknown; adAccountId: unknown },
): Promise<void> {
  await ownedConnection(database, visit)
  if (name === undefined && adAccountId === undefined) {
    throw Refusal.ofFields({ name: ['Send a name or an ad account.'] })
  }
  if (name !== undefined) requireName(name)
  if (adAccountId !== undefined) await moveConnection(database, visit, adAccountId)
  if (name !== undefined) await nameConnection(database, visit, name)
}

export const CONNECTION_NAME_CHARACTERS_MAX = 100

/** Gives a live connection another name. Throws a Refusal: 403, 404, or 422 on `name`. */
export async function nameConnection(
  database: Database,
  visit: ConnectionVisit,
  given: unknown,
): Promise<void> {
  const connection = await ownedConnection(database, visit)
  if (!(await renameConnection(database, connection, requireName(given)))) throw noConnection()
}

function requireName(given: unknown): string {
  const name = visibleLine(given, CONNECTION_NAME_CHARACTERS_MAX)
  if (name !== null) return name
  const sentence = `Give a name of 1 to ${CONNECTION_NAME_CHARACTERS_MAX} characters.`
  throw Refusal.ofFields({ name: [sentence] })
}

/**
 * Binds a live connection to another ad account of its workspace, which stops every token that it
 * has (spec: States and transitions). Throws a Refusal: 403, 404, or 422 on `ad_account_id`.
 */
export async function moveConnection(
  database: Database,
  visit: ConnectionVisit,
  given: unknown,
): Promise<void> {
  const connection = await ownedConnection(database, visit)
  const adAccountId = rowId(given)
  const { connectionId, workspaceId } = connection
  const found = (await listConnections(database, workspaceId)).find(
    ({ id, revoked_at }) => id === connectionId && revoked_at === null,
  )
  if (!found) throw noConnection()
  if (found.ad_account_id === adAccountId) return
  const isMoved =
    adAccountId !== null && (await rebindConnection(database, connection, adAccountId))
  if (isMoved) return
  throw Refusal.ofFields({
    ad_account_id: ['Choose another active ad account of this workspace.'],
  })
}

/**
 * Revokes a connection: its agent and all its tokens stop at once. Throws a Refusal: 403 or 404.
 */
export async function endConnection(
  database: Database,
  visit: ConnectionVisit,
  at: Date,
): Promise<void> {
  const connection = await ownedConnection(database, visit)
  if (!(await revokeConnection(database, connection, at))) throw noConnection()
}

async function ownedConnection(
  database: Database,
  { person, workspaceId, connectionId }: ConnectionVisit,
): Promise<ConnectionName> {
  const action = 'manage_agents'
  const membership = await requireRole(database, person, { workspaceId, action })
  const id = rowId(connectionId)
  if (id === null) throw noConnection()
  return { workspaceId: membership.workspaceId, connectionId: id }
}

function noConnection(): Refusal {
  return Refusal.notFound('There is no such live connection in this workspace.')
}
