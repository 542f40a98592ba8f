import type { AuditAction, AuditDetails, AuditEntry } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/commit-audited.ts'
import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ListPage } from '../../runtime/util/list-page.ts'
import { parseRowId } from '../../runtime/util/row-id.ts'
import { parseDisplayName } from '../users/display-name.ts'
import type { CurrentUser } from '../users/session-store.ts'
import type { Membership } from '../users/workspace-store.ts'
import { requireRole } from '../users/workspaces.ts'
import {
  type ConnectionKey,
  findConnectionAdAccount,
  type ListedConnection,
  listConnections,
  lockConnectionName,
  rebindConnection,
  renameConnection,
  revokeConnection,
  revokeGrant,
} from './connection-store.ts'

/** What operations that change access depend on. Each change is audited. */
export interface ChangeContext extends AuditedContext {
  now: () => Date
}

/** The IDs are not validated. */
export interface WorkspaceVisit {
  user: CurrentUser
  workspaceId: unknown
}

export interface ConnectionVisit extends WorkspaceVisit {
  connectionId: unknown
}

/** Returns the membership of a user who may manage agents. Throws a Refusal: 403 or 404. */
export function requireAgentManager(
  database: Database,
  { user, workspaceId }: WorkspaceVisit,
): Promise<Membership> {
  return requireRole(database, user, { workspaceId, action: 'manage_agents' })
}

/** A page of the connections of a workspace, for its owners. */
export async function listWorkspaceConnections(
  database: Database,
  visit: WorkspaceVisit,
  page: number,
): Promise<ListPage<ListedConnection>> {
  const { workspaceId } = await requireAgentManager(database, visit)
  return listConnections(database, workspaceId, page)
}

/**
 * Changes the given fields. If one is invalid, nothing changes. Throws a Refusal: 403, 404 or 422.
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

/** Renames a live connection. Throws a Refusal: 403, 404, or 422 on `name`. */
export async function changeConnectionName(
  context: ChangeContext,
  visit: ConnectionVisit,
  nameInput: unknown,
): Promise<void> {
  const connection = await requireConnection(context, visit)
  const name = requireName(nameInput)
  await commitAudited(context, async (transaction, record) => {
    const before = await lockConnectionName(transaction, connection)
    if (before === null) throw connectionNotFound()
    if (before === name) return
    await renameConnection(transaction, connection, name)
    record(createConnectionEntry(context, connection, { action: 'connection.renamed' }))
  })
}

function requireName(input: unknown): string {
  const name = parseDisplayName(input, CONNECTION_NAME_CHARACTERS_MAX)
  if (name !== null) return name
  const message = `Enter a name of 1 to ${CONNECTION_NAME_CHARACTERS_MAX} characters.`
  throw Refusal.ofFields({ name: [message] })
}

/**
 * Binds a live connection to another ad account of its workspace, which invalidates its tokens.
 * Throws a Refusal: 403, 404, or 422 on `ad_account_id`.
 */
export async function changeConnectionAdAccount(
  context: ChangeContext,
  visit: ConnectionVisit,
  adAccountInput: unknown,
): Promise<void> {
  const { database } = context
  const connection = await requireConnection(context, visit)
  const adAccountId = parseRowId(adAccountInput)
  const current = await findConnectionAdAccount(database, connection)
  if (current === null) throw connectionNotFound()
  if (current === adAccountId) return
  await commitAudited(context, async (transaction, record) => {
    const before =
      adAccountId === null ? null : await rebindConnection(transaction, connection, adAccountId)
    if (before === null) throw invalidAdAccount()
    const details = { ad_account_id_before: before, ad_account_id: adAccountId }
    const change = { action: 'connection.account_changed', details } as const
    record(createConnectionEntry(context, connection, change))
  })
}

/** Revokes a connection and all its tokens, effective immediately. Throws a 403 or 404. */
export async function revokeWorkspaceConnection(
  context: ChangeContext,
  visit: ConnectionVisit,
): Promise<void> {
  const connection = await requireConnection(context, visit)
  await commitAudited(context, async (transaction, record) => {
    const isRevoked = await revokeConnection(transaction, connection, context.now())
    if (!isRevoked) throw connectionNotFound()
    const change = { action: 'connection.revoked', details: { reason: 'owner' } } as const
    record(createConnectionEntry(context, connection, change))
  })
}

interface AuthorizedConnection extends ConnectionKey {
  user: CurrentUser
}

async function requireConnection(
  { database }: ChangeContext,
  visit: ConnectionVisit,
): Promise<AuthorizedConnection> {
  const { workspaceId } = await requireAgentManager(database, visit)
  const connectionId = parseRowId(visit.connectionId)
  if (connectionId === null) throw connectionNotFound()
  return { workspaceId, connectionId, user: visit.user }
}

function createConnectionEntry(
  { now }: ChangeContext,
  { workspaceId, connectionId, user }: AuthorizedConnection,
  { action, details = {} }: { action: AuditAction; details?: AuditDetails },
): AuditEntry {
  return {
    workspaceId,
    at: now(),
    actor: { type: 'person', id: String(user.userId) },
    action,
    subject: { type: 'connection', id: String(connectionId) },
    details,
  }
}

function invalidAdAccount(): Refusal {
  return Refusal.ofFields({
    ad_account_id: ['Choose another active ad account of this workspace.'],
  })
}

function connectionNotFound(): Refusal {
  return Refusal.notFound('Active connection not found in this workspace.')
}

/** The client revoked the grant, or reused a one-time code or token. */
type GrantRevocationReason = 'own_request' | 'used_twice'

/**
 * Revokes a grant: deletes its codes and tokens and revokes its connection, with an audit entry. A
 * grant that is already revoked stays as it is.
 */
export async function revokeGrantWithAudit(
  context: ChangeContext,
  grantId: string,
  reason: GrantRevocationReason,
): Promise<void> {
  const at = context.now()
  await commitAudited(context, async (transaction, record) => {
    const revoked = await revokeGrant(transaction, grantId, at)
    if (!revoked) return
    const id = String(revoked.connectionId)
    record({
      workspaceId: revoked.workspaceId,
      at,
      actor: reason === 'own_request' ? { type: 'connection', id } : { type: 'system', id: null },
      action: 'connection.revoked',
      subject: { type: 'connection', id },
      details: { reason },
    })
  })
}
