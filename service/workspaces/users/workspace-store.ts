import type { WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import type { Database } from '../../runtime/db/database.ts'

export interface Membership {
  workspaceId: number
  workspaceName: string
  role: WorkspaceRole
  /** Members open it only with a session that used a second factor. */
  requiresSecondFactor: boolean
}

const WORKSPACES_MAX = 200
const MEMBERS_MAX = 1_000

type Query = Pick<Database, 'query'>

/** Creates a workspace without members and returns its ID. */
export async function insertWorkspace(
  { query }: Query,
  { name, createdAt }: { name: string; createdAt: Date },
): Promise<number> {
  const row = await query
    .insertInto('workspaces')
    .values({ name, created_at: createdAt })
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

/** No other role waits for a member. */
export const NO_GRANT = { granted_role: null, granted_by: null, granted_at: null } as const

type WorkspaceStatus = 'active' | 'disabled'

/** Members and agents cannot use a disabled workspace. Returns false for an unknown ID. */
export async function setWorkspaceStatus(
  { query }: Query,
  workspaceId: number,
  status: WorkspaceStatus,
): Promise<boolean> {
  const changed = await query
    .updateTable('workspaces')
    .set({ status })
    .where('id', '=', workspaceId)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}

export async function updateWorkspaceName(
  { query }: Query,
  workspaceId: number,
  name: string,
): Promise<void> {
  await query.updateTable('workspaces').set({ name }).where('id', '=', workspaceId).execute()
}

/** Returns false when nothing changes. */
export async function updateSecondFactorRequirement(
  { query }: Query,
  workspaceId: number,
  isRequired: boolean,
): Promise<boolean> {
  const changed = await query
    .updateTable('workspaces')
    .set({ requires_second_factor: isRequired })
    .where('id', '=', workspaceId)
    .where('requires_second_factor', '<>', isRequired)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}

/** The active workspaces of a user, ordered by name. */
export async function listMemberships({ query }: Query, userId: number): Promise<Membership[]> {
  const rows = await query
    .selectFrom('members')
    .innerJoin('workspaces', 'workspaces.id', 'members.workspace_id')
    .select(['workspaces.id', 'workspaces.name', 'workspaces.requires_second_factor'])
    .select('members.role')
    .where('members.user_id', '=', userId)
    .where('workspaces.status', '=', 'active')
    .orderBy('workspaces.name')
    .orderBy('workspaces.id')
    .limit(WORKSPACES_MAX)
    .execute()
  return rows.map(toMembership)
}

/** Every workspace of a user, disabled ones too. */
export async function listWorkspaceIdsOfUser({ query }: Query, userId: number): Promise<number[]> {
  const rows = await query
    .selectFrom('members')
    .select('workspace_id')
    .where('user_id', '=', userId)
    .orderBy('workspace_id')
    .limit(WORKSPACES_MAX)
    .execute()
  return rows.map(({ workspace_id }) => workspace_id)
}

export interface MemberKey {
  workspaceId: number
  userId: number
}

/** Null when the user is not a member, or the workspace is unknown or disabled. */
export async function findMembership(
  { query }: Query,
  { workspaceId, userId }: MemberKey,
): Promise<Membership | null> {
  const row = await query
    .selectFrom('members')
    .innerJoin('workspaces', 'workspaces.id', 'members.workspace_id')
    .select(['workspaces.id', 'workspaces.name', 'workspaces.requires_second_factor'])
    .select('members.role')
    .where('members.user_id', '=', userId)
    .where('members.workspace_id', '=', workspaceId)
    .where('workspaces.status', '=', 'active')
    .executeTakeFirst()
  return row ? toMembership(row) : null
}

export interface Member {
  userId: number
  name: string
  email: string
  role: WorkspaceRole
  isDisabled: boolean
  createdAt: Date
  granted: GrantedRole | null
}

/** A role that a member has when the wait ends or another owner confirms it. */
export interface GrantedRole {
  role: WorkspaceRole
  /** Null for a deleted user. */
  grantedBy: number | null
  grantedAt: Date
}

/** In the order of joining. */
export async function listMembers({ query }: Query, workspaceId: number): Promise<Member[]> {
  const rows = await query
    .selectFrom('members')
    .innerJoin('people.users as person', 'person.id', 'members.user_id')
    .select(['person.id', 'person.name', 'person.email', 'person.status'])
    .select(['members.role', 'members.created_at'])
    .select(['members.granted_role', 'members.granted_by', 'members.granted_at'])
    .where('members.workspace_id', '=', workspaceId)
    .orderBy('members.created_at')
    .orderBy('person.id')
    .limit(MEMBERS_MAX)
    .execute()
  return rows.map(row => ({
    userId: row.id,
    name: row.name,
    email: row.email,
    role: row.role as WorkspaceRole,
    isDisabled: row.status === 'disabled',
    createdAt: row.created_at,
    granted: toGrantedRole(row),
  }))
}

export function toGrantedRole(row: {
  granted_role: string | null
  granted_by: number | null
  granted_at: Date | null
}): GrantedRole | null {
  if (row.granted_role === null || row.granted_at === null) return null
  const { granted_by: grantedBy, granted_at: grantedAt } = row
  return { role: row.granted_role as WorkspaceRole, grantedBy, grantedAt }
}

/** True when a member of the workspace has the address. */
export async function isMemberEmail(
  { query }: Query,
  workspaceId: number,
  email: string,
): Promise<boolean> {
  const row = await query
    .selectFrom('members')
    .innerJoin('people.users as person', 'person.id', 'members.user_id')
    .select('person.id')
    .where('members.workspace_id', '=', workspaceId)
    .where('person.email', '=', email)
    .executeTakeFirst()
  return row !== undefined
}

interface NewMember extends MemberKey {
  role: WorkspaceRole
  createdAt: Date
}

/** Returns false when the user is a member already; the role does not change. */
export async function insertMember({ query }: Query, member: NewMember): Promise<boolean> {
  const inserted = await query
    .insertInto('members')
    .values({
      workspace_id: member.workspaceId,
      user_id: member.userId,
      role: member.role,
      created_at: member.createdAt,
    })
    .onConflict(conflict => conflict.doNothing())
    .returning('user_id')
    .executeTakeFirst()
  return inserted !== undefined
}

/**
 * Locks the members of a workspace until the transaction ends, so that two concurrent requests
 * cannot both count two owners and each remove one. Returns false for an unknown ID.
 */
export async function lockMembers({ query }: Query, workspaceId: number): Promise<boolean> {
  const locked = await query
    .selectFrom('workspaces')
    .select('id')
    .where('id', '=', workspaceId)
    .forUpdate()
    .executeTakeFirst()
  return locked !== undefined
}

export async function findMemberRole(
  { query }: Query,
  { workspaceId, userId }: MemberKey,
): Promise<WorkspaceRole | null> {
  const row = await query
    .selectFrom('members')
    .select('role')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row ? (row.role as WorkspaceRole) : null
}

/** Counts the owners who can act, so without disabled ones. */
export async function countOwners({ query }: Query, workspaceId: number): Promise<number> {
  const row = await query
    .selectFrom('members')
    .innerJoin('people.users as person', 'person.id', 'members.user_id')
    .select(({ fn }) => fn.countAll<number>().as('owners'))
    .where('members.workspace_id', '=', workspaceId)
    .where('members.role', '=', 'owner')
    .where('person.status', '=', 'active')
    .executeTakeFirstOrThrow()
  return Number(row.owners)
}

/** A role that the member waits for is given up. */
export async function updateMemberRole(
  { query }: Query,
  { workspaceId, userId }: MemberKey,
  role: WorkspaceRole,
): Promise<void> {
  await query
    .updateTable('members')
    .set({ role, ...NO_GRANT })
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .execute()
}

export async function deleteMember(
  { query }: Query,
  { workspaceId, userId }: MemberKey,
): Promise<void> {
  await query
    .deleteFrom('members')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .execute()
}

function toMembership(row: {
  id: number
  name: string
  role: string
  requires_second_factor: boolean
}): Membership {
  return {
    workspaceId: row.id,
    workspaceName: row.name,
    role: row.role as WorkspaceRole,
    requiresSecondFactor: row.requires_second_factor,
  }
}
