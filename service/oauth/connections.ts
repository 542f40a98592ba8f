import type { AuditAction, AuditDetails } from '../audit/audit-entry.ts'
import type { Database, Transaction } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import type { CurrentPerson } from '../people/session-store.ts'
import { requireRole } from '../people/workspaces.ts'
import { parseRowId } from '../util/row-id.ts'
import {
  type ConnectionKey,
  type ListedConnection,
  listConnections,
  lockConnectionName,
  rebindConnection,
  renameConnection,
  revokeConnection,
  revokeGrant,
} from './connection-store.ts'
import { parseDisplayName } from './display-name.ts'
import type { ChangeContext } from './oauth-context.ts'

/** Who wants something with the connections of a workspace; ids as they came. */
export interface WorkspaceVisit {
  person: CurrentPerson
  workspaceId: unknown
}

export interface ConnectionVisit extends WorkspaceVisit {
  connectionId: unknown
}

/** The connections of a workspace, for its owners. */
export async function listWorkspaceConnections(
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
export async function updateConnection(
  context: ChangeContext,
  visit: ConnectionVisit,
  { name, adAccountId }: { name: unknown; adAccountId: unknown },
): Promise<void> {
  await requireConnection(context, visit)
  if (name === undefined && adAccountId === undefined) {
    throw Refusal.ofFields({ name: ['Send a name or an ad account.'] })
  }
  if (name !== undefined) requireName(name)
  if (adAccountId !== undefined) await changeConnectionAdAccount(context, visit, adAccountId)
  if (name !== undefined) await changeConnectionName(context, visit, name)
}

const CONNECTION_NAME_CHARACTERS_MAX = 100

/** Gives a live connection another name. Throws a Refusal: 403, 404, or 422 on `name`. */
export async function changeConnectionName(
  context: ChangeContext,
  visit: ConnectionVisit,
  given: unknown,
): Promise<void> {
  const connection = await requireConnection(context, visit)
  const name = requireName(given)
  await context.database.query.transaction().execute(async query => {
    const before = await lockConnectionName({ query }, connection)
    if (before === null) throw connectionNotFound()
    if (before === name) return
    await renameConnection({ query }, connection, name)
    await appendAuditEntry({ ...context, query }, connection, { action: 'connection.renamed' })
  })
}

function requireName(given: unknown): string {
  const name = parseDisplayName(given, CONNECTION_NAME_CHARACTERS_MAX)
  if (name !== null) return name
  const sentence = `Give a name of 1 to ${CONNECTION_NAME_CHARACTERS_MAX} characters.`
  throw Refusal.ofFields({ name: [sentence] })
}

/**
 * Binds a live connection to another ad account of its workspace, which stops every token that it
 * has (spec: States and transitions). Throws a Refusal: 403, 404, or 422 on `ad_account_id`.
 */
export async function changeConnectionAdAccount(
  context: ChangeContext,
  visit: ConnectionVisit,
  given: unknown,
): Promise<void> {
  const { database } = context
  const connection = await requireConnection(context, visit)
  const adAccountId = parseRowId(given)
  const { connectionId, workspaceId } = connection
  const found = (await listConnections(database, workspaceId)).find(
    ({ id, revoked_at }) => id === connectionId && revoked_at === null,
  )
  if (!found) throw connectionNotFound()
  if (found.ad_account_id === adAccountId) return
  await database.query.transaction().execute(async query => {
    const before =
      adAccountId === null ? null : await rebindConnection({ query }, connection, adAccountId)
    if (before === null) throw invalidAdAccount()
    const details = { ad_account_id_before: before, ad_account_id: adAccountId }
    const action = 'connection.account_changed'
    await appendAuditEntry({ ...context, query }, connection, { action, details })
  })
}

/**
 * Revokes a connection: its agent and all its tokens stop at once. Throws a Refusal: 403 or 404.
 */
export async function revokeWorkspaceConnection(
  context: ChangeContext,
  visit: ConnectionVisit,
): Promise<void> {
  const connection = await requireConnection(context, visit)
  await context.database.query.transaction().execute(async query => {
    const isRevoked = await revokeConnection({ query }, connection, context.now())
    if (!isRevoked) throw connectionNotFound()
    const details = { reason: 'owner' }
    await appendAuditEntry({ ...context, query }, connection, {
      action: 'connection.revoked',
      details,
    })
  })
}

interface AuthorizedConnection extends ConnectionKey {
  person: CurrentPerson
}

async function requireConnection(
  { database }: ChangeContext,
  { person, workspaceId, connectionId }: ConnectionVisit,
): Promise<AuthorizedConnection> {
  const action = 'manage_agents'
  const membership = await requireRole(database, person, { workspaceId, action })
  const id = parseRowId(connectionId)
  if (id === null) throw connectionNotFound()
  return { workspaceId: membership.workspaceId, connectionId: id, person }
}

/** The last statement of a transaction, in which `query` stands. */
async function appendAuditEntry(
  { query, audit, now }: ChangeContext & Transaction,
  { workspaceId, connectionId, person }: AuthorizedConnection,
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

function invalidAdAccount(): Refusal {
  return Refusal.ofFields({
    ad_account_id: ['Choose another active ad account of this workspace.'],
  })
}

function connectionNotFound(): Refusal {
  return Refusal.notFound('There is no such live connection in this workspace.')
}

/** Why a grant ends: its client said so, or what works once was used a second time. */
type GrantRevocationReason = 'own_request' | 'used_twice'

/**
 * Ends a grant: every code and token of it is forgotten and its connection is revoked, which is
 * written down. Nothing happens to a grant that is over.
 */
export async function revokeGrantWithAudit(
  { database, now, audit }: ChangeContext,
  grantId: string,
  reason: GrantRevocationReason,
): Promise<void> {
  const at = now()
  await database.query.transaction().execute(async query => {
    const ended = await revokeGrant({ query }, grantId, at)
    if (!ended) return
    const { workspaceId } = ended
    const id = String(ended.connectionId)
    await audit.append(
      { query },
      {
        workspaceId,
        at,
        actor: reason === 'own_request' ? { type: 'connection', id } : { type: 'system', id: null },
        action: 'connection.revoked',
        subject: { type: 'connection', id },
        details: { reason },
      },
    )
  })
}
