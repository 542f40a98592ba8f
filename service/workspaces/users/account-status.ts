import { type AuditedContext, commitAudited } from '../../audit/commit-audited.ts'
import { deleteAuthenticatorApp, deletePasskeys } from './second-factor-store.ts'
import type { RecordSecurityEvent } from './security-events.ts'
import { deleteSessions } from './session-store.ts'
import { findPersonByEmail, setPersonStatus } from './user-store.ts'
import { listWorkspaceIdsOfPerson, setWorkspaceStatus } from './workspace-store.ts'
import { recordWithdrawals } from './workspaces.ts'

interface StatusContext extends AuditedContext {
  now: () => Date
}

type AccountStatus = 'active' | 'disabled'

const OPERATOR = { type: 'operator', id: null } as const

/**
 * Disables or enables a person for the operator, with an entry in the log of each of the person's
 * workspaces, and one for each invitation that is withdrawn. Returns false when no person has this
 * address.
 */
export async function changePersonStatus(
  context: StatusContext,
  email: string,
  status: AccountStatus,
): Promise<boolean> {
  return commitAudited(context, async (transaction, record) => {
    const person = await findPersonByEmail(transaction, email)
    const changed = person && (await setPersonStatus(transaction, email, status))
    if (!changed) return false
    const { userId } = person
    const at = context.now()
    for (const workspaceId of await listWorkspaceIdsOfPerson(transaction, userId)) {
      record({
        workspaceId,
        at,
        actor: OPERATOR,
        action: status === 'active' ? 'person.enabled' : 'person.disabled',
        subject: { type: 'member', id: String(userId) },
        details: {},
      })
    }
    const reason = 'inviter_disabled'
    recordWithdrawals(record, changed.withdrawn, { actor: OPERATOR, at, reason })
    return true
  })
}

interface FactorContext extends StatusContext {
  recordSecurityEvent: RecordSecurityEvent
}

/**
 * Removes the authenticator app and the passkeys of a person for the operator, and ends the
 * person's sessions. Each of the person's workspaces gets an entry, because their owners rely on
 * the factor; the account gets a security event. Returns false when no person has this address.
 */
export async function removeSecondFactors(context: FactorContext, email: string): Promise<boolean> {
  const removed = await commitAudited(context, async (transaction, record) => {
    const person = await findPersonByEmail(transaction, email)
    if (!person) return null
    const hadApp = await deleteAuthenticatorApp(transaction, person.userId)
    const passkeys = await deletePasskeys(transaction, person.userId)
    await deleteSessions(transaction, person.userId)
    const workspaceIds = await listWorkspaceIdsOfPerson(transaction, person.userId)
    for (const workspaceId of hadApp || passkeys > 0 ? workspaceIds : []) {
      record({
        workspaceId,
        at: context.now(),
        actor: OPERATOR,
        action: 'person.second_factors_removed',
        subject: { type: 'member', id: String(person.userId) },
        details: { authenticator_app: hadApp, passkeys },
      })
    }
    return { person, hadFactors: hadApp || passkeys > 0 }
  })
  if (!removed) return false
  const { person, hadFactors } = removed
  if (!hadFactors) return true
  const event = { type: 'second_factor.removed', person, request: null } as const
  await context.recordSecurityEvent({ ...event, details: { factor: 'all', by: 'operator' } })
  return true
}

/** Disables or enables a workspace for the operator. Returns false for an unknown ID. */
export async function changeWorkspaceStatus(
  context: StatusContext,
  workspaceId: number,
  status: AccountStatus,
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
