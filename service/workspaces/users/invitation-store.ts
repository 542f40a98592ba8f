import {
  invitableRoles,
  WORKSPACE_ROLES,
  type WorkspaceRole,
} from '@signalbox/contract/session/roles.ts'
import { sql } from 'kysely'
import type { Database } from '../../runtime/db/database.ts'
import { type ListPage, pageRange, toListPage } from '../../runtime/util/list-page.ts'
import type { MemberKey } from './workspace-store.ts'

type InvitationStatus = 'pending' | 'accepted' | 'declined' | 'withdrawn'

export interface Invitation {
  id: string
  workspaceId: number
  workspaceName: string
  email: string
  role: WorkspaceRole
  inviterName: string
  invitedBy: number | null
  createdAt: Date
  expiresAt: Date
}

type Query = Pick<Database, 'query'>

interface InvitationPage {
  at: Date
  /** From 1. */
  page: number
}

/** A page of the pending invitations of a workspace, newest first. */
export async function listInvitations(
  { query }: Query,
  workspaceId: number,
  { at, page }: InvitationPage,
): Promise<ListPage<Invitation>> {
  const rows = selectPendingInvitations({ query }, at).where(
    'invitation.workspace_id',
    '=',
    workspaceId,
  )
  return readInvitationPage(rows, page)
}

/** A page of the pending invitations to an address, newest first. */
export async function listInvitationsByEmail(
  { query }: Query,
  email: string,
  { at, page }: InvitationPage,
): Promise<ListPage<Invitation>> {
  const rows = selectPendingInvitations({ query }, at).where('invitation.email', '=', email)
  return readInvitationPage(rows, page)
}

async function readInvitationPage(
  pending: ReturnType<typeof selectPendingInvitations>,
  page: number,
): Promise<ListPage<Invitation>> {
  const { offset, limit } = pageRange(page)
  const rows = await pending
    .orderBy('invitation.created_at', 'desc')
    .orderBy('invitation.id')
    .offset(offset)
    .limit(limit)
    .execute()
  return toListPage(rows.map(toInvitation), page)
}

/** True when a workspace has invited the address. */
export async function hasPendingInvitation(
  { query }: Query,
  email: string,
  at: Date,
): Promise<boolean> {
  const row = await selectPendingInvitations({ query }, at)
    .where('invitation.email', '=', email)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Null when it was answered or withdrawn, has expired, its workspace is disabled, or its inviter
 * may no longer send it.
 */
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
  /** The roles that the inviter may grant. A pending invitation to another role is not replaced. */
  replaceableRoles: readonly WorkspaceRole[]
  invitedBy: number
  createdAt: Date
  expiresAt: Date
}

/**
 * Inserts an invitation or renews the pending one for the same address. Returns its ID; null when
 * the pending one is to a role that the inviter may not grant.
 */
export async function upsertInvitation(
  { query }: Query,
  invitation: NewInvitation,
): Promise<string | null> {
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
        }))
        .where(({ eb, or }) =>
          or([
            eb('invitations.role', 'in', invitation.replaceableRoles),
            eb('invitations.expires_at', '<=', invitation.createdAt),
          ]),
        ),
    )
    .returning('id')
    .executeTakeFirst()
  return row?.id ?? null
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

export type WithdrawnInvitation = Pick<Invitation, 'id' | 'workspaceId' | 'role'>

/**
 * Withdraws the pending invitations that a member may not send with a new role, or all of them when
 * the member leaves: otherwise an owner who is removed could come back through an own invitation.
 */
export async function withdrawInvitationsOfMember(
  { query }: Query,
  { workspaceId, userId }: MemberKey,
  newRole: WorkspaceRole | null,
): Promise<WithdrawnInvitation[]> {
  const kept = newRole === null ? [] : invitableRoles(newRole)
  const rows = await query
    .updateTable('invitations')
    .set({ status: 'withdrawn' })
    .where('workspace_id', '=', workspaceId)
    .where('invited_by', '=', userId)
    .where('status', '=', 'pending')
    .$if(kept.length > 0, update => update.where('role', 'not in', kept))
    .returning(['id', 'workspace_id', 'role'])
    .execute()
  return rows.map(toWithdrawnInvitation)
}

/** Withdraws the pending invitations of a user in all workspaces. */
export async function withdrawInvitationsOfUser(
  { query }: Query,
  userId: number,
): Promise<WithdrawnInvitation[]> {
  const rows = await query
    .updateTable('invitations')
    .set({ status: 'withdrawn' })
    .where('invited_by', '=', userId)
    .where('status', '=', 'pending')
    .returning(['id', 'workspace_id', 'role'])
    .execute()
  return rows.map(toWithdrawnInvitation)
}

function toWithdrawnInvitation(row: {
  id: string
  workspace_id: number
  role: string
}): WithdrawnInvitation {
  return { id: row.id, workspaceId: row.workspace_id, role: row.role as WorkspaceRole }
}

/** The roles of an inviter and of an invitation that go together. */
const INVITER_AND_GRANTED_ROLES = WORKSPACE_ROLES.flatMap(role =>
  invitableRoles(role).map(granted => [role, granted] as const),
)

/**
 * Checks the status and the role that the inviter has now, for rights that were lost in a way that
 * withdrew nothing: by hand in the store, or before invitations were withdrawn.
 */
function selectPendingInvitations({ query }: Query, at: Date) {
  return query
    .selectFrom('invitations as invitation')
    .innerJoin('workspaces as workspace', 'workspace.id', 'invitation.workspace_id')
    .innerJoin('people.users as inviter', 'inviter.id', 'invitation.invited_by')
    .innerJoin('members as membership', join =>
      join
        .onRef('membership.workspace_id', '=', 'invitation.workspace_id')
        .onRef('membership.user_id', '=', 'invitation.invited_by'),
    )
    .selectAll('invitation')
    .select(['workspace.name as workspace_name', 'inviter.name as inviter_name'])
    .where('invitation.status', '=', 'pending')
    .where('invitation.expires_at', '>', at)
    .where('workspace.status', '=', 'active')
    .where('inviter.status', '=', 'active')
    .where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('membership.role', 'invitation.role'),
        'in',
        INVITER_AND_GRANTED_ROLES.map(([role, granted]) => tuple(role, granted)),
      ),
    )
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
    invitedBy: row.invited_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}

/** Deletes invitations that expired before a time, answered or not. */
export async function deleteExpiredInvitations({ query }: Query, before: Date): Promise<void> {
  await query.deleteFrom('invitations').where('expires_at', '<=', before).execute()
}
