import type { Database } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import { parseRowId } from '../util/row-id.ts'
import { parseName } from './account-fields.ts'
import type { PeopleContext } from './people-context.ts'
import type { CurrentPerson } from './session-store.ts'
import {
  canGrantRole,
  hasPermission,
  isWorkspaceRole,
  type WorkspaceAction,
  type WorkspaceRole,
} from './workspace-role.ts'
import {
  countOwners,
  deleteMember,
  findMemberRole,
  findMembership,
  insertMember,
  insertWorkspace,
  listMemberships,
  lockMembers,
  type MemberKey,
  type Membership,
  updateMemberRole,
  updateWorkspaceName,
} from './workspace-store.ts'

/** What somebody wants to do, and where. `workspaceId` may come from a path. */
interface RequiredPermission {
  workspaceId: unknown
  action: WorkspaceAction
}

/**
 * The person's membership, if their role allows it. 404 to who does not belong there, as for a
 * workspace that does not exist; 403 to who belongs and may not.
 */
export async function requireRole(
  database: Database,
  { userId }: CurrentPerson,
  { workspaceId: given, action }: RequiredPermission,
): Promise<Membership> {
  const workspaceId = parseRowId(given)
  const membership =
    workspaceId === null ? null : await findMembership(database, { workspaceId, userId })
  if (!membership) throw Refusal.notFound('There is no such workspace among yours.')
  if (hasPermission(membership.role, action)) return membership
  throw new Refusal(403, 'Your role in this workspace does not allow this; ask an owner.')
}

const WORKSPACES_MAX = 50

/** Makes a workspace of which the person is the owner; both or none. Returns its id. */
export async function createWorkspace(
  { database, now }: PeopleContext,
  person: CurrentPerson,
  given: unknown,
): Promise<number> {
  const name = parseWorkspaceName(given)
  const { length } = await listMemberships(database, person.userId)
  if (length >= WORKSPACES_MAX) {
    throw Refusal.ofFields({ name: [`You belong to ${WORKSPACES_MAX} workspaces already.`] })
  }
  const createdAt = now()
  return database.query.transaction().execute(async query => {
    const workspaceId = await insertWorkspace({ query }, { name, createdAt })
    const owner = { workspaceId, userId: person.userId, role: 'owner', createdAt } as const
    await insertMember({ query }, owner)
    return workspaceId
  })
}

export async function changeWorkspaceName(
  { database }: PeopleContext,
  person: CurrentPerson,
  { workspaceId, name: given }: { workspaceId: unknown; name: unknown },
): Promise<void> {
  const intent = { workspaceId, action: 'rename_workspace' } as const
  const membership = await requireRole(database, person, intent)
  await updateWorkspaceName(database, membership.workspaceId, parseWorkspaceName(given))
}

function parseWorkspaceName(given: unknown): string {
  const name = parseName(given)
  if (name === null) throw Refusal.ofFields({ name: ['Write a name of 1 to 100 characters.'] })
  return name
}

/** Both as they came from a path or a body. */
interface MemberReference {
  workspaceId: unknown
  userId: unknown
}

/** Gives a member another role. Only owners may; the last one stays an owner. */
export async function changeMemberRole(
  { database }: PeopleContext,
  person: CurrentPerson,
  { role, ...member }: MemberReference & { role: unknown },
): Promise<void> {
  const { workspaceId } = await requireRole(database, person, {
    workspaceId: member.workspaceId,
    action: 'change_role',
  })
  if (!isWorkspaceRole(role)) throw Refusal.ofFields({ role: ['Choose a role from the list.'] })
  const name = { workspaceId, userId: parseRowId(member.userId) ?? 0 }
  await database.query.transaction().execute(async query => {
    await lockMembers({ query }, workspaceId)
    const actor = await requireMemberRole({ query }, { workspaceId, userId: person.userId })
    const before = await requireMemberRole({ query }, name)
    // Decided again under the lock: somebody may have taken the actor's role away meanwhile.
    if (actor !== 'owner') throw forbiddenByRole()
    if (before === 'owner' && role !== 'owner') await requireAnotherOwner({ query }, workspaceId)
    await updateMemberRole({ query }, name, role)
  })
}

/**
 * Takes a member out of a workspace, or lets the person themselves leave. Nobody removes someone
 * above them, and the last owner stays.
 */
export async function removeMember(
  { database }: PeopleContext,
  person: CurrentPerson,
  member: MemberReference,
): Promise<void> {
  const userId = parseRowId(member.userId) ?? 0
  const isLeaving = userId === person.userId
  const { workspaceId } = await requireRole(database, person, {
    workspaceId: member.workspaceId,
    action: isLeaving ? 'read' : 'remove_member',
  })
  await database.query.transaction().execute(async query => {
    await lockMembers({ query }, workspaceId)
    const actor = await requireMemberRole({ query }, { workspaceId, userId: person.userId })
    const removed = await requireMemberRole({ query }, { workspaceId, userId })
    const mayRemove = isLeaving || (actor !== 'member' && canGrantRole(actor, removed))
    if (!mayRemove) throw forbiddenByRole()
    if (removed === 'owner') await requireAnotherOwner({ query }, workspaceId)
    await deleteMember({ query }, { workspaceId, userId })
  })
}

type Query = Parameters<typeof findMemberRole>[0]

async function requireMemberRole(query: Query, name: MemberKey): Promise<WorkspaceRole> {
  const role = await findMemberRole(query, name)
  if (role === null) throw Refusal.notFound('There is no such member in this workspace.')
  return role
}

async function requireAnotherOwner(query: Query, workspaceId: number): Promise<void> {
  if ((await countOwners(query, workspaceId)) > 1) return
  throw Refusal.ofFields({
    role: ['A workspace keeps at least one owner; make somebody else an owner first.'],
  })
}

function forbiddenByRole(): Refusal {
  return new Refusal(403, 'Your role in this workspace does not allow this; ask an owner.')
}
