import {
  DECIDING_ROLES,
  hasPermission,
  WORKSPACE_ROLES,
  type WorkspaceAction,
  type WorkspaceRole,
} from '@signalbox/contract/session/roles.ts'
import type { AuditDetails } from '../../audit/audit-entry.ts'
import {
  findInviters,
  findRoleGains,
  hasRoleLossSince,
  type RoleGain,
} from '../../audit/role-history-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import { findGrantedRole, findMemberSince, grantRole, listMembersWithRole } from './role-store.ts'
import { type GrantedRole, type MemberKey, updateMemberRole } from './workspace-store.ts'

/**
 * How long a person must have a role before it counts for the two-person rule, and how long one
 * that was lost still counts. As long as an approval period.
 */
export const STANDING_HOURS = 72

export function startOfStanding(at: Date): Date {
  return new Date(at.getTime() - STANDING_HOURS * HOUR_MILLISECONDS)
}

/** When a member has the role that was granted, if nobody confirms it before. */
export function endOfWait({ grantedAt }: Pick<GrantedRole, 'grantedAt'>): Date {
  return new Date(grantedAt.getTime() + STANDING_HOURS * HOUR_MILLISECONDS)
}

/** Whether a user is active and has a role that allows the action. */
export async function hasPermissionNow(
  transaction: Transaction,
  member: MemberKey,
  action: WorkspaceAction,
): Promise<boolean> {
  const found = await findMemberSince(transaction, member)
  return found !== null && hasPermission(found.role, action)
}

interface MemberAt {
  workspaceId: number
  userId: number
  at: Date
}

/**
 * Whether anyone besides a member could decide at some time in the last 72 hours: `can`, if a
 * person still has such a role and did not only gain it in that time; `could`, if one lost it; else
 * null.
 */
export async function couldAnotherDecide(
  transaction: Transaction,
  { workspaceId, userId, at }: MemberAt,
): Promise<'can' | 'could' | null> {
  const since = startOfStanding(at)
  const roles = DECIDING_ROLES
  const others = { workspaceId, exceptUserId: userId, roles }
  const gains = await findCountedGains(transaction, { workspaceId, since })
  const deciders = await listMembersWithRole(transaction, others)
  if (deciders.some(id => !gains.some(gain => gain.userId === id))) return 'can'
  return (await hasRoleLossSince(transaction, { ...others, since })) ? 'could' : null
}

/** Whether a member became one who decides within the last 72 hours. */
export async function hasNewDecidingRole(
  transaction: Transaction,
  { workspaceId, userId, at }: MemberAt,
): Promise<boolean> {
  const since = startOfStanding(at)
  return (await findCountedGains(transaction, { workspaceId, userId, since })).length > 0
}

/**
 * Not counted: the creator of a workspace, people whom the operator added, and invited people whose
 * wait has ended or whom another owner confirmed.
 */
async function findCountedGains(
  transaction: Transaction,
  scope: { workspaceId: number; userId?: number; since: Date },
): Promise<RoleGain[]> {
  const gains = await findRoleGains(transaction, { ...scope, roles: DECIDING_ROLES })
  return gains.filter(
    ({ actorType, reason }) => actorType !== 'operator' && !isMember(SETTLED_REASONS, reason),
  )
}

/** Why an invited owner or administrator got the role that was granted. */
export const GRANT_REASONS = ['waited', 'confirmed'] as const
const SETTLED_REASONS: readonly string[] = ['workspace_created', ...GRANT_REASONS]

function isMember(reasons: readonly string[], reason: string | null): boolean {
  return reason !== null && reasons.includes(reason)
}

/** Another person's change that waits for time or for a confirmation. */
interface Confirmation extends MemberAt {
  /** Who made the change; null for a deleted user. */
  changedBy: number | null
}

/**
 * Why a user may not end the wait of a change early, as a sentence; null if they may. Only an owner
 * of at least 72 hours, whom the person who made the change neither invited nor made an owner, and
 * who did not just give that person their role.
 */
export async function findConfirmationDenial(
  transaction: Transaction,
  { workspaceId, userId, changedBy, at }: Confirmation,
): Promise<string | null> {
  if (userId === changedBy) return OWN_CHANGE
  const since = startOfStanding(at)
  const member = await findMemberSince(transaction, { workspaceId, userId })
  if (member?.role !== 'owner') return OWNERS_CONFIRM
  const owning = { workspaceId, userId, roles: ['owner'] }
  const recent = await findRoleGains(transaction, { ...owning, since })
  if (member.createdAt > since || recent.length > 0) return NEW_OWNER
  const changer = String(changedBy)
  const gains = await findRoleGains(transaction, owning)
  const isMadeOwner = gains.some(({ actorId, reason }) => {
    return actorId === changer && !isMember(GRANT_REASONS, reason)
  })
  const inviters = await findInviters(transaction, { workspaceId, userId })
  if (isMadeOwner || inviters.includes(changer)) return INVITED
  if (changedBy === null) return null
  const given = { workspaceId, userId: changedBy, by: userId, at }
  return (await hasRecentlyGivenRole(transaction, given)) ? GAVE_ROLE : null
}

const OWN_CHANGE = 'You cannot confirm your own change. Another owner can, or it waits.'
const OWNERS_CONFIRM = 'Only an owner can confirm it early.'
const NEW_OWNER = 'You have been an owner for less than 72 hours, so you cannot confirm it early.'
const INVITED =
  'The person who made this change invited you or made you an owner, so another owner must ' +
  'confirm it, or it waits.'
const GAVE_ROLE =
  'You gave the person who made this change their role in the last 72 hours, so another owner ' +
  'must confirm it, or it waits.'

/** Whether a user added or promoted a member within the last 72 hours. */
export async function hasRecentlyGivenRole(
  transaction: Transaction,
  { workspaceId, userId, by, at }: MemberAt & { by: number },
): Promise<boolean> {
  const since = startOfStanding(at)
  const giver = String(by)
  const promotions = { workspaceId, userId, roles: DECIDING_ROLES, since }
  const gains = await findRoleGains(transaction, promotions)
  if (gains.some(({ actorType, actorId }) => actorType === 'person' && actorId === giver)) {
    if (giver !== String(userId)) return true
  }
  const joined = await findRoleGains(transaction, { ...promotions, roles: WORKSPACE_ROLES })
  const hasJoined = joined.length > 0
  return hasJoined && (await findInviters(transaction, { workspaceId, userId })).includes(giver)
}

/**
 * Stores a role, and returns what its audit entry says; null if nothing changes. A person who
 * joined within the last 72 hours gets a deciding role after a wait: otherwise two steps would do
 * what an invitation cannot.
 */
export async function applyRole(
  transaction: Transaction,
  key: MemberKey,
  { before, ...given }: GrantedRole & { before: WorkspaceRole },
): Promise<AuditDetails | null> {
  const { role, grantedAt: at } = given
  const member = await findMemberSince(transaction, key)
  const isNew = member !== null && member.createdAt > startOfStanding(at)
  if (isNew && DECIDING_ROLES.includes(role) && !DECIDING_ROLES.includes(before)) {
    await grantRole(transaction, key, given)
    return { role_before: before, role: before, granted_role: role }
  }
  const granted = await findGrantedRole(transaction, key)
  await updateMemberRole(transaction, key, role)
  if (before !== role) return { role_before: before, role }
  return granted && { role_before: before, role, granted_role: null }
}
