import { Refusal } from '../http/refusal.ts'
import type { CurrentPerson } from './current-person.ts'
import {
  countOwners,
  deleteMember,
  findRole,
  lockMembers,
  type MemberName,
  setRole,
} from './member-store.ts'
import type { PeopleContext } from './people-context.ts'
import { requireRole, rowId } from './require-role.ts'
import { isWorkspaceRole, mayGrant, type WorkspaceRole } from './workspace-role.ts'

/** Both as they came from a path or a body. */
export interface NamedMember {
  workspaceId: unknown
  userId: unknown
}

/** Gives a member another role. Only owners may; the last one stays an owner. */
export async function changeRole(
  { database }: PeopleContext,
  person: CurrentPerson,
  { role, ...member }: NamedMember & { role: unknown },
): Promise<void> {
  const { workspaceId } = await requireRole(database, person, {
    workspaceId: member.workspaceId,
    action: 'change_role',
  })
  if (!isWorkspaceRole(role)) throw Refusal.ofFields({ role: ['Choose a role from the list.'] })
  const name = { workspaceId, userId: rowId(member.userId) ?? 0 }
  await database.query.transaction().execute(async query => {
    await lockMembers({ query }, workspaceId)
    const actor = await lockedRole({ query }, { workspaceId, userId: person.userId })
    const before = await lockedRole({ query }, name)
    // Decided again under the lock: somebody may have taken the actor's role away meanwhile.
    if (actor !== 'owner') throw notAllowed()
    if (before === 'owner' && role !== 'owner') await keepAnOwner({ query }, workspaceId)
    await setRole({ query }, name, role)
  })
}

/**
 * Takes a member out of a workspace, or lets the person themselves leave. Nobody removes someone
 * above them, and the last owner stays.
 */
export async function removeMember(
  { database }: PeopleContext,
  person: CurrentPerson,
  member: NamedMember,
): Promise<void> {
  const userId = rowId(member.userId) ?? 0
  const isLeaving = userId === person.userId
  const { workspaceId } = await requireRole(database, person, {
    workspaceId: member.workspaceId,
    action: isLeaving ? 'read' : 'remove_member',
  })
  await database.query.transaction().execute(async query => {
    await lockMembers({ query }, workspaceId)
    const actor = await lockedRole({ query }, { workspaceId, userId: person.userId })
    const removed = await lockedRole({ query }, { workspaceId, userId })
    const mayRemove = isLeaving || (actor !== 'member' && mayGrant(actor, removed))
    if (!mayRemove) throw notAllowed()
    if (removed === 'owner') await keepAnOwner({ query }, workspaceId)
    await deleteMember({ query }, { workspaceId, userId })
  })
}

type Query = Parameters<typeof findRole>[0]

async function lockedRole(query: Query, name: MemberName): Promise<WorkspaceRole> {
  const role = await findRole(query, name)
  if (role === null) throw Refusal.notFound('There is no such member in this workspace.')
  return role
}

async function keepAnOwner(query: Query, workspaceId: number): Promise<void> {
  if ((await countOwners(query, workspaceId)) > 1) return
  throw Refusal.ofFields({
    role: ['A workspace keeps at least one owner; make somebody else an owner first.'],
  })
}

function notAllowed(): Refusal {
  return new Refusal(403, 'Your role in this workspace does not allow this; ask an owner.')
}
