import type { Database } from '../../runtime/db/database.ts'
import { countPendingApprovals } from './pending-approvals-store.ts'
import type { CurrentUser } from './session-store.ts'
import type { WorkspaceAction } from './workspace-role.ts'
import type { Membership } from './workspace-store.ts'
import { requireRole } from './workspaces.ts'

/** A membership with what the navigation of the workspace's pages shows. */
export interface PageMembership extends Membership {
  /** Proposals that wait for a decision. */
  pendingApprovals: number
}

/** As `requireRole`, for a server-rendered page. Members may open most pages. */
export async function requirePageMembership(
  database: Database,
  user: CurrentUser,
  { workspaceId, action = 'read' }: { workspaceId: unknown; action?: WorkspaceAction },
): Promise<PageMembership> {
  const membership = await requireRole(database, user, { workspaceId, action })
  const pendingApprovals = await countPendingApprovals(database, membership.workspaceId)
  return { ...membership, pendingApprovals }
}
