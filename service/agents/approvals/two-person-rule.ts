import type { AuditAction } from '../../audit/audit-entry.ts'
import { hasRoleLossSince } from '../../audit/audit-read-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import { hasPermission, WORKSPACE_ROLES } from '../../workspaces/users/workspace-role.ts'
import { hasOtherMember } from '../../workspaces/users/workspace-store.ts'
import type { Action } from '../proposals/action.ts'

/** Changes that decide who may approve what, and what needs approval. */
const GOVERNANCE_ACTIONS: readonly AuditAction[] = [
  'policy.changed',
  'member.added',
  'member.role_changed',
  'member.removed',
  'person.disabled',
  'person.enabled',
]

/** As long as an approval period. */
const GOVERNANCE_HOURS = 72
const GOVERNANCE_ENTRIES_MAX = 100

/** The filter for recent changes of roles and the policy, which an approver is shown. */
export function governanceFilter(at: Date) {
  return {
    actions: GOVERNANCE_ACTIONS,
    since: startOfGovernanceWindow(at),
    limit: GOVERNANCE_ENTRIES_MAX,
  }
}

function startOfGovernanceWindow(at: Date): Date {
  return new Date(at.getTime() - GOVERNANCE_HOURS * HOUR_MILLISECONDS)
}

/**
 * Why a user may not approve a proposal of their own or of their credential, as a sentence; null
 * if they may. Two people are needed if another one could decide. Roles count as they were over the
 * last 72 hours, so that an owner cannot demote the others, approve, and promote them again.
 */
export async function findApprovalDenial(
  transaction: Transaction,
  { workspaceId, proposer }: Pick<Action, 'workspaceId' | 'proposer'>,
  { userId, at }: { userId: number; at: Date },
): Promise<string | null> {
  if (proposer.userId !== userId) return null
  const own = proposer.kind === 'person' ? 'your own proposal' : 'a proposal of your own credential'
  const roles = WORKSPACE_ROLES.filter(role => hasPermission(role, 'decide_actions'))
  const others = { workspaceId, exceptUserId: userId, roles }
  if (await hasOtherMember(transaction, others)) return othersDecide(own)
  const since = startOfGovernanceWindow(at)
  return (await hasRoleLossSince(transaction, { ...others, since })) ? othersCouldDecide(own) : null
}

function othersDecide(own: string): string {
  return `You cannot approve ${own}. Another owner or admin must approve it; you can reject it.`
}

function othersCouldDecide(own: string): string {
  return (
    `You cannot approve ${own}: in the last 72 hours, another owner or admin lost that role. ` +
    'Another owner or admin must approve it; you can reject it.'
  )
}
