import type { WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import type { Database } from '../../runtime/db/database.ts'
import { type GrantedRole, type MemberKey, NO_GRANT, toGrantedRole } from './workspace-store.ts'

type Query = Pick<Database, 'query'>

const MEMBERS_MAX = 1_000

interface OtherMembers {
  workspaceId: number
  exceptUserId: number
  roles: readonly WorkspaceRole[]
}

/** The IDs of the other active users with one of these roles. */
export async function listMembersWithRole(
  { query }: Query,
  { workspaceId, exceptUserId, roles }: OtherMembers,
): Promise<number[]> {
  const rows = await query
    .selectFrom('members')
    .innerJoin('people.users as person', 'person.id', 'members.user_id')
    .select('person.id')
    .where('members.workspace_id', '=', workspaceId)
    .where('members.user_id', '<>', exceptUserId)
    .where('members.role', 'in', roles)
    .where('person.status', '=', 'active')
    .orderBy('person.id')
    .limit(MEMBERS_MAX)
    .execute()
  return rows.map(({ id }) => id)
}

/** The role of a member who may act, and when they joined; null for a disabled user. */
export async function findMemberSince(
  { query }: Query,
  { workspaceId, userId }: MemberKey,
): Promise<{ role: WorkspaceRole; createdAt: Date } | null> {
  const row = await query
    .selectFrom('members')
    .innerJoin('people.users as person', 'person.id', 'members.user_id')
    .select(['members.role', 'members.created_at'])
    .where('members.workspace_id', '=', workspaceId)
    .where('members.user_id', '=', userId)
    .where('person.status', '=', 'active')
    .executeTakeFirst()
  return row ? { role: row.role as WorkspaceRole, createdAt: row.created_at } : null
}

/** The member gets the role when the wait ends or another owner confirms it. */
export async function grantRole(
  { query }: Query,
  { workspaceId, userId }: MemberKey,
  { role, grantedBy, grantedAt }: GrantedRole,
): Promise<void> {
  await query
    .updateTable('members')
    .set({ granted_role: role, granted_by: grantedBy, granted_at: grantedAt })
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .execute()
}

/** The role that a member waits for, if any. */
export async function findGrantedRole(
  { query }: Query,
  { workspaceId, userId }: MemberKey,
): Promise<GrantedRole | null> {
  const row = await query
    .selectFrom('members')
    .select(['granted_role', 'granted_by', 'granted_at'])
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row ? toGrantedRole(row) : null
}

/** Members whose role was granted at `until` or before. */
export async function listGrantedUntil(
  { query }: Query,
  until: Date,
  countMax: number,
): Promise<MemberKey[]> {
  const rows = await query
    .selectFrom('members')
    .select(['workspace_id', 'user_id'])
    .where('granted_role', 'is not', null)
    .where('granted_at', '<=', until)
    .orderBy('granted_at')
    .limit(countMax)
    .execute()
  return rows.map(row => ({ workspaceId: row.workspace_id, userId: row.user_id }))
}

/** The member has the granted role from now on. */
export async function settleGrantedRole(
  { query }: Query,
  { workspaceId, userId }: MemberKey,
): Promise<void> {
  await query
    .updateTable('members')
    .set(({ ref }) => ({ role: ref('granted_role').$notNull(), ...NO_GRANT }))
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .where('granted_role', 'is not', null)
    .execute()
}

/** Withdraws the roles that wait because a member granted them, except for some roles. */
export async function withdrawGrantedRoles(
  { query }: Query,
  { workspaceId, userId }: MemberKey,
  kept: readonly WorkspaceRole[],
): Promise<{ userId: number; role: WorkspaceRole }[]> {
  const rows = await query
    .updateTable('members')
    .set(NO_GRANT)
    .where('workspace_id', '=', workspaceId)
    .where('granted_by', '=', userId)
    .$if(kept.length > 0, update => update.where('granted_role', 'not in', kept))
    .returning(['user_id', 'role'])
    .execute()
  return rows.map(row => ({ userId: row.user_id, role: row.role as WorkspaceRole }))
}
