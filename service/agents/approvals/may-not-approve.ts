import type { Transaction } from '../../db/database.ts'
import { countOwners } from '../../people/member-store.ts'
import type { WorkspaceRole } from '../../people/workspace-role.ts'
import type { Action } from '../proposals/action.ts'

/**
 * Why somebody may not approve what a credential of theirs proposed, as a sentence; null when they
 * may. Two people see what an agent does, unless there is nobody else who could.
 */
export async function mayNotApprove(
  transaction: Transaction,
  { workspaceId, proposer }: Pick<Action, 'workspaceId' | 'proposer'>,
  { userId, role }: { userId: number; role: WorkspaceRole },
): Promise<string | null> {
  if (proposer.personId !== userId) return null
  const owners = await countOwners(transaction, workspaceId)
  const others = owners - (role === 'owner' ? 1 : 0)
  return others > 0 ? OWN_PROPOSAL : null
}

const OWN_PROPOSAL =
  'Your own credential proposed this, so somebody else has to approve it; you may reject it.'
