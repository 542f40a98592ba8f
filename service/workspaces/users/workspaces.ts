import {
  canGrantRole,
  DECIDING_ROLES,
  hasPermission,
  type WorkspaceAction,
  type WorkspaceRole,
} from '@signalbox/contract/session/roles.ts'
import {
  RoleSubmission,
  WorkspaceSecurity,
  WorkspaceSubmission,
} from '@signalbox/contract/session/users.ts'
import type { AuditActor, AuditEntry } from '../../audit/audit-entry.ts'
import { commitAudited } from '../../audit/audit-store.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import { requireRecentAuthentication, requireSecondFactor } from './reauthentication.ts'
import { endGrantsOf } from './role-loss.ts'
import { applyRole, hasPermissionNow } from './role-standing.ts'
import type { CurrentUser } from './session-store.ts'
import { NAME_ERROR, parseName, ROLE_ERROR } from './user-input.ts'
import type { UsersContext } from './users-context.ts'
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
  updateSecondFactorRequirement,
  updateWorkspaceName,
} from './workspace-store.ts'

/** `workspaceId` may come from a path, not validated. */
interface RequiredPermission {
  workspaceId: unknown
  action: WorkspaceAction
}

/**
 * Returns the membership of a user whose role allows the action. Throws a 403 when it does not,
 * or when the workspace requires a second factor that this session has not used; and a 404 when the
 * user is not a member, as for a workspace that does not exist.
 */
export async function requireRole(
  database: Database,
  user: CurrentUser,
  { action, ...path }: RequiredPermission,
): Promise<Membership> {
  const { userId } = user
  const workspaceId = parseRowId(path.workspaceId)
  const membership =
    workspaceId === null ? null : await findMembership(database, { workspaceId, userId })
  if (!membership) throw Refusal.notFound('Workspace not found.')
  if (membership.requiresSecondFactor) requireSecondFactor(user)
  if (hasPermission(membership.role, action)) return membership
  throw forbiddenByRole()
}

/**
 * Throws a 403 when the member has lost a role that allows the action, or is disabled. For a
 * transaction that holds a lock of the workspace, which role changes also take: `requireRole` has
 * run before it.
 */
export async function requireRoleUnderLock(
  transaction: Transaction,
  member: MemberKey,
  action: WorkspaceAction,
): Promise<void> {
  if (!(await hasPermissionNow(transaction, member, action))) throw forbiddenByRole()
}

/**
 * Throws a 403 until the address of a user is verified, for operations that reach other people.
 * Sign-in refuses such a user already.
 */
export function requireVerifiedEmail({ isEmailVerified }: CurrentUser): void {
  if (isEmailVerified) return
  throw new Refusal(403, 'Confirm your email address first: request a link at /verify.')
}

const WORKSPACES_MAX = 50

const workspaceValidator = new Validator(WorkspaceSubmission, {
  members: { name: { error: NAME_ERROR, parse: parseName } },
})

/** Creates a workspace with the user as its owner. Returns its ID. Throws a 403 or 422. */
export async function createWorkspace(
  context: UsersContext,
  user: CurrentUser,
  body: unknown,
): Promise<number> {
  requireVerifiedEmail(user)
  const { name } = workspaceValidator.validate(body)
  const { length } = await listMemberships(context.database, user.userId)
  if (length >= WORKSPACES_MAX) {
    throw Refusal.ofFields({ name: [`You already belong to ${WORKSPACES_MAX} workspaces.`] })
  }
  const createdAt = context.now()
  return commitAudited(context, async (transaction, record) => {
    const workspaceId = await insertWorkspace(transaction, { name, createdAt })
    const owner = { workspaceId, userId: user.userId, role: 'owner', createdAt } as const
    await insertMember(transaction, owner)
    const details = { role: 'owner', reason: 'workspace_created' }
    record(createMemberEntry(user, owner, { action: 'member.added', at: createdAt, details }))
    return workspaceId
  })
}

export async function changeWorkspaceName(
  { database }: UsersContext,
  user: CurrentUser,
  { workspaceId, body }: { workspaceId: unknown; body: unknown },
): Promise<void> {
  const intent = { workspaceId, action: 'rename_workspace' } as const
  const membership = await requireRole(database, user, intent)
  const { name } = workspaceValidator.validate(body)
  await updateWorkspaceName(database, membership.workspaceId, name)
}

const securityValidator = new Validator(WorkspaceSecurity, {
  members: { second_factor_required: { error: 'Send true or false.' } },
})

/**
 * Makes every member use a second factor, or makes it optional again. An owner needs one to require
 * it, so that they do not lock themselves out.
 */
export async function changeSecondFactorRequirement(
  context: UsersContext,
  user: CurrentUser,
  { workspaceId, body }: { workspaceId: unknown; body: unknown },
): Promise<void> {
  const intent = { workspaceId, action: 'change_security' } as const
  const membership = await requireRole(context.database, user, intent)
  const { second_factor_required: isRequired } = securityValidator.validate(body)
  const at = context.now()
  requireRecentAuthentication(user, at)
  if (isRequired) requireSecondFactor(user)
  const id = membership.workspaceId
  await commitAudited(context, async (transaction, record) => {
    if (!(await updateSecondFactorRequirement(transaction, id, isRequired))) return
    record({
      workspaceId: id,
      at,
      actor: userActor(user),
      action: 'second_factor_requirement.changed',
      subject: { type: 'workspace', id: String(id) },
      details: { is_required: isRequired },
    })
  })
}

/** From a path, not validated. */
interface MemberReference {
  workspaceId: unknown
  userId: unknown
}

const roleValidator = new Validator(RoleSubmission, { members: { role: { error: ROLE_ERROR } } })

/**
 * Changes the role of a member. Only owners may; the last owner stays an owner. Granting a role
 * that decides needs a recent confirmation of identity. Ends what the member started and the new
 * role does not allow.
 */
export async function changeMemberRole(
  context: UsersContext,
  user: CurrentUser,
  { body, ...member }: MemberReference & { body: unknown },
): Promise<void> {
  const { workspaceId } = await requireRole(context.database, user, {
    workspaceId: member.workspaceId,
    action: 'change_role',
  })
  const { role } = roleValidator.validate(body)
  if (DECIDING_ROLES.includes(role)) requireRecentAuthentication(user, context.now())
  const key = { workspaceId, userId: parseRowId(member.userId) ?? 0 }
  await commitAudited(context, async ({ query }, record) => {
    await lockMembers({ query }, workspaceId)
    const actor = await requireMemberRole({ query }, { workspaceId, userId: user.userId })
    const before = await requireMemberRole({ query }, key)
    // Checked again under the lock: the actor may have lost the role in the meantime.
    if (actor !== 'owner') throw forbiddenByRole()
    if (before === 'owner' && role !== 'owner') await requireAnotherOwner({ query }, workspaceId)
    const at = context.now()
    const now = { role, grantedBy: user.userId, grantedAt: at }
    const details = await applyRole({ query }, key, { ...now, before })
    if (details)
      record(createMemberEntry(user, key, { action: 'member.role_changed', at, details }))
    const loss = { ...key, actor: userActor(user), at, record, reason: 'inviter_demoted' } as const
    await endGrantsOf({ query }, context, { ...loss, newRole: role })
  })
}

/**
 * Removes a member with what the member started, or lets the user leave. A member with a higher
 * role cannot be removed, nor the last owner.
 */
export async function removeMember(
  context: UsersContext,
  user: CurrentUser,
  member: MemberReference,
): Promise<void> {
  const userId = parseRowId(member.userId) ?? 0
  const isLeaving = userId === user.userId
  const { workspaceId } = await requireRole(context.database, user, {
    workspaceId: member.workspaceId,
    action: isLeaving ? 'view_events' : 'remove_member',
  })
  await commitAudited(context, async ({ query }, record) => {
    await lockMembers({ query }, workspaceId)
    const actor = await requireMemberRole({ query }, { workspaceId, userId: user.userId })
    const removed = await requireMemberRole({ query }, { workspaceId, userId })
    const canRemove =
      isLeaving || (hasPermission(actor, 'remove_member') && canGrantRole(actor, removed))
    if (!canRemove) throw forbiddenByRole()
    if (removed === 'owner') await requireAnotherOwner({ query }, workspaceId)
    await deleteMember({ query }, { workspaceId, userId })
    const at = context.now()
    const reason = isLeaving ? 'left' : 'removed'
    const change = { action: 'member.removed', at, details: { role: removed, reason } } as const
    record(createMemberEntry(user, { workspaceId, userId }, change))
    const loss = { workspaceId, userId, actor: userActor(user), at, record } as const
    await endGrantsOf({ query }, context, { ...loss, reason: `inviter_${reason}`, newRole: null })
  })
}

/** The audit entry of a change that a user made to a member. */
export function createMemberEntry(
  user: Pick<CurrentUser, 'userId'>,
  { workspaceId, userId }: MemberKey,
  change: Pick<AuditEntry, 'action' | 'at' | 'details'>,
): AuditEntry {
  const subject = { type: 'member', id: String(userId) } as const
  return { workspaceId, actor: userActor(user), subject, ...change }
}

export function userActor({ userId }: Pick<CurrentUser, 'userId'>): AuditActor {
  return { type: 'person', id: String(userId) }
}

type Query = Parameters<typeof findMemberRole>[0]

async function requireMemberRole(query: Query, key: MemberKey): Promise<WorkspaceRole> {
  const role = await findMemberRole(query, key)
  if (role === null) throw Refusal.notFound('Member not found in this workspace.')
  return role
}

async function requireAnotherOwner(query: Query, workspaceId: number): Promise<void> {
  if ((await countOwners(query, workspaceId)) > 1) return
  throw Refusal.ofFields({
    role: ['A workspace needs at least one owner. Make another member an owner first.'],
  })
}

function forbiddenByRole(): Refusal {
  return new Refusal(403, 'Your role in this workspace does not allow this. Ask an owner.')
}
