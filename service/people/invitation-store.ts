import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import type { WorkspaceRole } from './workspace-role.ts'

type InvitationStatus = 'pending' | 'accepted' | 'declined' | 'withdrawn'

export interface Invitation {
  id: string
  workspaceId: number
  workspaceName: string
  email: string
  role: WorkspaceRole
  /** Null when the account of the inviter is deleted. */
  inviterName: string | null
  createdAt: Date
  expiresAt: Date
}

const INVITATIONS_MAX = 200

type Query = Pick<Database, 'query'>

/** The pending invitations of a workspace, newest first. */
export async function listInvitations(
  { query }: Query,
  workspaceId: number,
  at: Date,
): Promise<Invitation[]> {
  const rows = await selectPendingInvitations({ query }, at)
    .where('invitation.workspace_id', '=', workspaceId)
    .orderBy('invitation.created_at', 'desc')
    .limit(INVITATIONS_MAX)
    .execute()
  return rows.map(toInvitation)
}

/** The pending invitations to an address, newest first. */
export async function listInvitationsByEmail(
  { query }: Query,
  email: string,
  at: Date,
): Promise<Invitation[]> {
  const rows = await selectPendingInvitations({ query }, at)
    .where('invitation.email', '=', email)
    .orderBy('invitation.created_at', 'desc')
    .limit(INVITATIONS_MAX)
    .execute()
  return rows.map(toInvitation)
}

/** Null when it was answered or withdrawn, has expired, or its workspace is disabled. */
export async function findInvitation(
  { query }: Query,
  id: string,
  at: Date,
): Promise<Invitation | null> {
  const row = await selectPendingInvitations({ query }, at)
    .where('invitation.id', '=', id)
    .executeTakeFirst()
  return row ? toInvitation(row) : null
}

interface NewInvitation {
  id: string
  workspaceId: number
  email: string
  role: WorkspaceRole
  invitedBy: number
  createdAt: Date
  expiresAt: Date
}

/** Inserts an invitation or renews the pending one for the same address. Returns its ID. */
export async function upsertInvitation(
  { query }: Query,
  invitation: NewInvitation,
): Promise<string> {
  const row = await query
    .insertInto('invitations')
    .values({
      id: invitation.id,
      workspace_id: invitation.workspaceId,
      email: invitation.email,
      role: invitation.role,
      invited_by: invitation.invitedBy,
      status: 'pending',
      created_at: invitation.createdAt,
      expires_at: invitation.expiresAt,
    })
    .onConflict(conflict =>
      conflict
        .columns(['workspace_id', 'email'])
        // A literal: the partial index does not match a parameter.
        .where('status', '=', sql.lit('pending'))
        .doUpdateSet(({ ref }) => ({
          role: ref('excluded.role'),
          invited_by: ref('excluded.invited_by'),
          created_at: ref('excluded.created_at'),
          expires_at: ref('excluded.expires_at'),
        })),
    )
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

/** Returns true for exactly one of several concurrent answers. */
export async function closeInvitation(
  { query }: Query,
  id: string,
  status: Exclude<InvitationStatus, 'pending'>,
): Promise<boolean> {
  const found = await query
    .updateTable('invitations')
    .set({ status })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returning('id')
    .executeTakeFirst()
  return found !== undefined
}

function selectPendingInvitations({ query }: Query, at: Date) {
  return query
    .selectFrom('invitations as invitation')
    .innerJoin('workspaces as workspace', 'workspace.id', 'invitation.workspace_id')
    .leftJoin('people.users as inviter', 'inviter.id', 'invitation.invited_by')
    .selectAll('invitation')
    .select(['workspace.name as workspace_name', 'inviter.name as inviter_name'])
    .where('invitation.status', '=', 'pending')
    .where('invitation.expires_at', '>', at)
    .where('workspace.status', '=', 'active')
}

type InvitationRow = Awaited<
  ReturnType<ReturnType<typeof selectPendingInvitations>['execute']>
>[number]

function toInvitation(row: InvitationRow): Invitation {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    workspaceName: row.workspace_name,
    email: row.email,
    role: row.role as WorkspaceRole,
    inviterName: row.inviter_name,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}

/** Deletes invitations that expired before a time, answered or not. */
export async function deleteExpiredInvitations({ query }: Query, before: Date): Promise<void> {
  await query.deleteFrom('invitations').where('expires_at', '<=', before).execute()
}
