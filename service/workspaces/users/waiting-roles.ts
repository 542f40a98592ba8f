import type { AuditActor, AuditDetails } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import { requireRecentAuthentication } from './reauthentication.ts'
import { findConfirmationDenial, type GRANT_REASONS, startOfStanding } from './role-standing.ts'
import { findGrantedRole, listGrantedUntil, settleGrantedRole } from './role-store.ts'
import type { CurrentUser } from './session-store.ts'
import { findMemberRole, lockMembers, type MemberKey } from './workspace-store.ts'
import { requireRole, userActor } from './workspaces.ts'

/** Not validated. */
interface MemberReference {
  workspaceId: unknown
  userId: unknown
}

type OperationContext = AuditedContext & { now: () => Date }

/**
 * Ends the wait of an invited owner or administrator. Only an owner of at least 72 hours may, who
 * neither invited the person nor depends on the one who did. Throws a Refusal: 403, 404, or 409 if
 * no role waits.
 */
export async function confirmGrantedRole(
  context: OperationContext,
  user: CurrentUser,
  member: MemberReference,
): Promise<void> {
  const intent = { workspaceId: member.workspaceId, action: 'change_role' } as const
  const { workspaceId } = await requireRole(context.database, user, intent)
  const at = context.now()
  requireRecentAuthentication(user, at)
  const key = { workspaceId, userId: parseRowId(member.userId) ?? 0 }
  await commitAudited(context, async ({ query }, record) => {
    await lockMembers({ query }, workspaceId)
    const before = await findMemberRole({ query }, key)
    if (before === null) throw Refusal.notFound('Member not found in this workspace.')
    const granted = await findGrantedRole({ query }, key)
    if (!granted) throw new Refusal(409, 'No role of this person waits for a confirmation.')
    const { grantedBy: changedBy } = granted
    const confirmation = { workspaceId, userId: user.userId, changedBy, at }
    const denial = await findConfirmationDenial({ query }, confirmation)
    if (denial !== null) throw new Refusal(403, denial)
    await settleGrantedRole({ query }, key)
    const details = { role_before: before, role: granted.role }
    record(settledEntry(key, { at, actor: userActor(user), reason: 'confirmed', details }))
  })
}

interface Settlement {
  at: Date
  actor: AuditActor
  reason: (typeof GRANT_REASONS)[number]
  details: AuditDetails
}

function settledEntry({ workspaceId, userId }: MemberKey, settlement: Settlement) {
  const { at, actor, reason, details } = settlement
  const subject = { type: 'member', id: String(userId) } as const
  const action = 'member.role_changed' as const
  return { workspaceId, at, actor, action, subject, details: { ...details, reason } }
}

const MEMBERS_PER_RUN_MAX = 100

/** Gives invited people the roles whose wait has ended. `more` is true if others are left. */
export async function settleWaitingRoles(
  context: AuditedContext,
  now: Date,
): Promise<{ settled: number; more: boolean }> {
  const until = startOfStanding(now)
  const due = await listGrantedUntil(context.database, until, MEMBERS_PER_RUN_MAX)
  for (const key of due) await settleWaitingRole(context, key, now)
  return { settled: due.length, more: due.length === MEMBERS_PER_RUN_MAX }
}

function settleWaitingRole(context: AuditedContext, key: MemberKey, at: Date): Promise<void> {
  return commitAudited(context, async ({ query }, record) => {
    await lockMembers({ query }, key.workspaceId)
    const granted = await findGrantedRole({ query }, key)
    // Confirmed, changed or granted again in the meantime.
    if (!granted || granted.grantedAt > startOfStanding(at)) return
    const before = await findMemberRole({ query }, key)
    await settleGrantedRole({ query }, key)
    const details = { role_before: before, role: granted.role }
    const actor = { type: 'system', id: null } as const
    record(settledEntry(key, { at, actor, reason: 'waited', details }))
  })
}
