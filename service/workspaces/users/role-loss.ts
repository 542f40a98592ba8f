import { invitableRoles, type WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import type { AuditActor, AuditEntry } from '../../audit/audit-entry.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { type WithdrawnInvitation, withdrawInvitationsOfMember } from './invitation-store.ts'
import { withdrawGrantedRoles } from './role-store.ts'
import type { MemberKey } from './workspace-store.ts'

/** That a member was demoted or removed, left, or was disabled. */
export interface RoleLoss extends MemberKey {
  /** Who did it. */
  actor: AuditActor
  at: Date
  reason: 'inviter_left' | 'inviter_removed' | 'inviter_demoted' | 'inviter_disabled'
  record: (entry: AuditEntry) => void
}

/**
 * Runs in the transaction in which a member may have lost a role; `agents` uses it to cancel the
 * policy that waits. The members of the workspace are locked.
 */
export type RoleLossListener = (transaction: Transaction, loss: RoleLoss) => Promise<unknown>

interface Context {
  onRoleLost: RoleLossListener
}

/**
 * Ends what a member started and the new role does not allow, or everything if the member has none
 * any more: invitations, roles that wait for people whom the member invited, and what waits
 * elsewhere. Otherwise a person who is removed would still act 72 hours later.
 */
export async function endGrantsOf(
  transaction: Transaction,
  { onRoleLost }: Context,
  { newRole, ...loss }: RoleLoss & { newRole: WorkspaceRole | null },
): Promise<void> {
  recordWithdrawals(loss, await withdrawInvitationsOfMember(transaction, loss, newRole))
  const kept = newRole === null ? [] : invitableRoles(newRole)
  const { workspaceId, actor, at, reason, record } = loss
  for (const { userId, role } of await withdrawGrantedRoles(transaction, loss, kept)) {
    record({
      workspaceId,
      at,
      actor,
      action: 'member.role_changed',
      subject: { type: 'member', id: String(userId) },
      details: { role_before: role, role, granted_role: null, reason },
    })
  }
  await onRoleLost(transaction, loss)
}

/** An entry for each invitation that was withdrawn because of its inviter. */
export function recordWithdrawals(
  { actor, at, reason, record }: Omit<RoleLoss, 'workspaceId'>,
  withdrawn: readonly WithdrawnInvitation[],
): void {
  for (const { id, workspaceId, role } of withdrawn) {
    const subject = { type: 'invitation', id } as const
    const action = 'invitation.withdrawn'
    record({ workspaceId, at, actor, action, subject, details: { role, reason } })
  }
}
