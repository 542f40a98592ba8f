import { type AuditedContext, commitAudited } from '../audit/commit-audited.ts'
import { findPersonByEmail, setPersonStatus } from './person-store.ts'
import { listWorkspaceIdsOfPerson, setWorkspaceStatus } from './workspace-store.ts'

interface StatusContext extends AuditedContext {
  now: () => Date
}

type AccountStatus = 'active' | 'disabled'

const OPERATOR = { type: 'operator', id: null } as const

/**
 * Disables or enables a person for the operator, with an entry in the log of each of the person's
 * workspaces. Returns false when no person has this address.
 */
export async function changePersonStatus(
  context: StatusContext,
  email: string,
  status: AccountStatus,
): Promise<boolean> {
  return commitAudited(context, async (transaction, record) => {
    const person = await findPersonByEmail(transaction, email)
    if (!person || !(await setPersonStatus(transaction, email, status))) return false
    const { userId } = person
    for (const workspaceId of await listWorkspaceIdsOfPerson(transaction, userId)) {
      record({
        workspaceId,
        at: context.now(),
        actor: OPERATOR,
        action: status === 'active' ? 'person.enabled' : 'person.disabled',
        subject: { type: 'member', id: String(userId) },
        details: {},
      })
    }
    return true
  })
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
