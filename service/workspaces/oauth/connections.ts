import { ConnectionChange } from '@signalbox/contract/session/agents.ts'
import type { AuditDetails, AuditEntry } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import type { ListPage } from '../../runtime/util/list-page.ts'
import type { CurrentUser } from '../users/session-store.ts'
import { parseDisplayName } from '../users/user-input.ts'
import type { Membership } from '../users/workspace-store.ts'
import { requireRole, userActor } from '../users/workspaces.ts'
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

const CONNECTION_NAME_CHARACTERS_MAX = 100
const INVALID_AD_ACCOUNT = 'Choose another active ad account of this workspace.'

/** IDs may be text, as forms send them. */
const changeValidator = new Validator(ConnectionChange, {
  coerceTypes: true,
  members: {
    name: {
      error: `Enter a name of 1 to ${CONNECTION_NAME_CHARACTERS_MAX} characters.`,
      parse: name => parseDisplayName(name, CONNECTION_NAME_CHARACTERS_MAX),
    },
    ad_account_id: { error: INVALID_AD_ACCOUNT },
  },
})

/**
 * Changes the given fields of a live connection, all or none of them. Another ad account of the
 * workspace invalidates its tokens. Throws a Refusal: 403, 404, or 422 naming every invalid field.
 */
export async function updateConnection(
  context: ChangeContext,
  visit: ConnectionVisit,
  body: unknown,
): Promise<void> {
  const connection = await requireConnection(context, visit)
  const { name, ad_account_id: adAccountId } = changeValidator.validate(body)
  if (name === undefined && adAccountId === undefined) {
    throw Refusal.ofFields({ name: ['Send a name or an ad account.'] })
  }
  await commitAudited(context, async (transaction, record) => {
    const changes = [
      adAccountId === undefined ? null : await rebind(transaction, connection, adAccountId),
      name === undefined ? null : await rename(transaction, connection, name),
    ]
    for (const change of changes) {
      if (change) record(createConnectionEntry(context, connection, change))
    }
  })
}

type ConnectionAuditChange = Pick<AuditEntry, 'action'> & { details?: AuditDetails }

/** Null when the connection has this ad account already. */
async function rebind(
  transaction: Transaction,
  connection: ConnectionKey,
  adAccountId: number,
): Promise<ConnectionAuditChange | null> {
  const current = await findConnectionAdAccount(transaction, connection)
  if (current === null) throw connectionNotFound()
  if (current === adAccountId) return null
  const before = await rebindConnection(transaction, connection, adAccountId)
  if (before === null) throw Refusal.ofFields({ ad_account_id: [INVALID_AD_ACCOUNT] })
  const details = { ad_account_id_before: before, ad_account_id: adAccountId }
  return { action: 'connection.account_changed', details }
}

/** Null when the connection has this name already. */
async function rename(
  transaction: Transaction,
  connection: ConnectionKey,
  name: string,
): Promise<ConnectionAuditChange | null> {
  const before = await lockConnectionName(transaction, connection)
  if (before === null) throw connectionNotFound()
  if (before === name) return null
  await renameConnection(transaction, connection, name)
  return { action: 'connection.renamed' }
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
  { action, details = {} }: ConnectionAuditChange,
): AuditEntry {
  return {
    workspaceId,
    at: now(),
    actor: userActor(user),
    action,
    subject: { type: 'connection', id: String(connectionId) },
    details,
  }
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
