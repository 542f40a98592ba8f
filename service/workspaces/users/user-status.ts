import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import { endGrantsOf, type RoleLossListener, recordWithdrawals } from './role-loss.ts'
import { deleteAuthenticatorApp, deletePasskeys } from './second-factor-store.ts'
import type { RecordSecurityEvent } from './security-events.ts'
import { deleteSessions } from './session-store.ts'
import { findUserByEmail, setUserStatus } from './user-store.ts'
import { listWorkspaceIdsOfUser, lockMembers, setWorkspaceStatus } from './workspace-store.ts'

interface StatusContext extends AuditedContext {
  now: () => Date
}

type UserStatusName = 'active' | 'disabled'

const OPERATOR = { type: 'operator', id: null } as const

/**
 * Disables or enables a user for the operator, with an entry in the log of each of the user's
 * workspaces, and one for each thing that ends with the user's roles. Returns false when no user
 * has this address.
 */
export async function changeUserStatus(
  context: StatusContext & { onRoleLost: RoleLossListener },
  email: string,
  status: UserStatusName,
): Promise<boolean> {
  return commitAudited(context, async (transaction, record) => {
    const user = await findUserByEmail(transaction, email)
    if (!user) return false
    const { userId } = user
    const workspaceIds = await listWorkspaceIdsOfUser(transaction, userId)
    for (const workspaceId of workspaceIds) await lockMembers(transaction, workspaceId)
    const changed = await setUserStatus(transaction, email, status)
    const at = context.now()
    for (const workspaceId of workspaceIds) {
      record({
        workspaceId,
        at,
        actor: OPERATOR,
        action: status === 'active' ? 'person.enabled' : 'person.disabled',
        subject: { type: 'member', id: String(userId) },
        details: {},
      })
    }
    if (status === 'active') return true
    const loss = { userId, actor: OPERATOR, at, record, reason: 'inviter_disabled' } as const
    recordWithdrawals(loss, changed?.withdrawn ?? [])
    for (const workspaceId of workspaceIds) {
      await endGrantsOf(transaction, context, { ...loss, workspaceId, newRole: null })
    }
    return true
  })
}

interface FactorContext extends StatusContext {
  recordSecurityEvent: RecordSecurityEvent
}

/**
 * Removes the authenticator app and the passkeys of a user for the operator, and ends the
 * user's sessions. Each of the user's workspaces gets an entry, because their owners rely on
 * the factor; the account gets a security event. Returns false when no user has this address.
 */
export async function removeSecondFactors(context: FactorContext, email: string): Promise<boolean> {
  const removed = await commitAudited(context, async (transaction, record) => {
    const user = await findUserByEmail(transaction, email)
    if (!user) return null
    const hadApp = await deleteAuthenticatorApp(transaction, user.userId)
    const passkeys = await deletePasskeys(transaction, user.userId)
    await deleteSessions(transaction, user.userId)
    const workspaceIds = await listWorkspaceIdsOfUser(transaction, user.userId)
    for (const workspaceId of hadApp || passkeys > 0 ? workspaceIds : []) {
      record({
        workspaceId,
        at: context.now(),
        actor: OPERATOR,
        action: 'person.second_factors_removed',
        subject: { type: 'member', id: String(user.userId) },
        details: { authenticator_app: hadApp, passkeys },
      })
    }
    return { user, hadFactors: hadApp || passkeys > 0 }
  })
  if (!removed) return false
  const { user, hadFactors } = removed
  if (!hadFactors) return true
  const event = { type: 'second_factor.removed', user, request: null } as const
  await context.recordSecurityEvent({ ...event, details: { factor: 'all', by: 'operator' } })
  return true
}

/** Disables or enables a workspace for the operator. Returns false for an unknown ID. */
export async function changeWorkspaceStatus(
  context: StatusContext,
  workspaceId: number,
  status: UserStatusName,
): Promise<boolean> {
  return commitAudited(context, async (transaction, record) => {
    if (!(await setWorkspaceStatus(transaction, workspaceId, status))) return false
    record({
      workspaceId,
      at: context.now(),
      actor: OPERATOR,
      action: status === 'active' ? 'workspace.enabled' : 'workspace.disabled',
      subject: { type: 'workspace', id: String(workspaceId) },
      details: {},
    })
    return true
  })
}
