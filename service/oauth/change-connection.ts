import type { AuditAction, AuditDetails } from '../agents/audit/audit-entry.ts'
import type { Database, Transaction } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import type { CurrentPerson } from '../people/current-person.ts'
import { requireRole, rowId } from '../people/require-role.ts'
import {
  type ConnectionName,
  type ListedConnection,
  listConnections,
  lockConnectionName,
  rebindConnection,
  renameConnection,
  revokeConnection,
} from './connection-store.ts'
import type { ChangeContext } from './oauth-context.ts'
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
  context: ChangeContext,
  visit: ConnectionVisit,
  { name, adAccountId }: { name: unknown; adAccountId: unknown },
): Promise<void> {
  await ownedConnection(context, visit)
  if (name === undefined && adAccountId === undefined) {
    throw Refusal.ofFields({ name: ['Send a name or an ad account.'] })
  }
  if (name !== undefined) requireName(name)
  if (adAccountId !== undefined) await moveConnection(context, visit, adAccountId)
  if (name !== undefined) await nameConnection(context, visit, name)
}

export const CONNECTION_NAME_CHARACTERS_MAX = 100

/** Gives a live connection another name. Throws a Refusal: 403, 404, or 422 on `name`. */
export async function nameConnection(
  context: ChangeContext,
  visit: ConnectionVisit,
  given: unknown,
): Promise<void> {
  const connection = await ownedConnection(context, visit)
  const name = requireName(given)
  await context.database.query.transaction().execute(async query => {
    const before = await lockConnectionName({ query }, connection)
    if (before === null) throw noConnection()
    if (before === name) return
    await renameConnection({ query }, connection, name)
    await writeDown({ ...context, query }, connection, { action: 'connection.renamed' })
  })
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
  context: ChangeContext,
  visit: ConnectionVisit,
  given: unknown,
): Promise<void> {
  const { database } = context
  const connection = await ownedConnection(context, visit)
  const adAccountId = rowId(given)
  const { connectionId, workspaceId } = connection
  const found = (await listConnections(database, workspaceId)).find(
    ({ id, revoked_at }) => id === connectionId && revoked_at === null,
  )
  if (!found) throw noConnection()
  if (found.ad_account_id === adAccountId) return
  await database.query.transaction().execute(async query => {
    const before =
      adAccountId === null ? null : await rebindConnection({ query }, connection, adAccountId)
    if (before === null) throw noAccount()
    const details = { ad_account_id_before: before, ad_account_id: adAccountId }
    const action = 'connection.account_changed'
    await writeDown({ ...context, query }, connection, { action, details })
  })
}

/**
 * Revokes a connection: its agent and all its tokens stop at once. Throws a Refusal: 403 or 404.
 */
export async function endConnection(context: ChangeContext, visit: ConnectionVisit): Promise<void> {
  const connection = await ownedConnection(context, visit)
  await context.database.query.transaction().execute(async query => {
    const isRevoked = await revokeConnection({ query }, connection, context.now())
    if (!isRevoked) throw noConnection()
    const details = { reason: 'owner' }
    await writeDown({ ...context, query }, connection, { action: 'connection.revoked', details })
  })
}

interface OwnedConnection extends ConnectionName {
  person: CurrentPerson
}

async function ownedConnection(
  { database }: ChangeContext,
  { person, workspaceId, connectionId }: ConnectionVisit,
): Promise<OwnedConnection> {
  const action = 'manage_agents'
  const membership = await requireRole(database, person, { workspaceId, action })
  const id = rowId(connectionId)
  if (id === null) throw noConnection()
  return { workspaceId: membership.workspaceId, connectionId: id, person }
}

/** The last statement of a transaction, in which `query` stands. */
async function writeDown(
  { query, audit, now }: ChangeContext & Transaction,
  { workspaceId, connectionId, person }: OwnedConnection,
  { action, details = {} }: { action: AuditAction; details?: AuditDetails },
): Promise<void> {
  await audit.append(
    { query },
    {
      workspaceId,
      at: now(),
      actor: { type: 'person', id: String(person.userId) },
      action,
      subject: { type: 'connection', id: String(connectionId) },
      details,
    },
  )
}

function noAccount(): Refusal {
  return Refusal.ofFields({
    ad_account_id: ['Choose another active ad account of this workspace.'],
  })
}

function noConnection(): Refusal {
  return Refusal.notFound('There is no such live connection in this workspace.')
}
