import { Refusal } from '../runtime/http/refusal.ts'
import { readPathParameters } from '../runtime/http/validator.ts'
import { isUuid } from '../runtime/util/uuid.ts'
import { findTracker, type TrackerIdentity } from '../signals/access/tracker-store.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import type { WorkspaceAction } from '../workspaces/users/workspace-role.ts'
import { requireRole } from '../workspaces/users/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'

/** A request below `TRACKER_PATH`; its parameters are not validated yet. */
export interface TrackerRequest {
  user: CurrentUser
  params: unknown
}

/**
 * Returns the tracker of a request, once the role of the person allows the action. Throws a 403
 * when it does not, and a 404 for a tracker of another workspace as for one that does not exist.
 */
export async function requireTracker(
  { database }: DashboardContext,
  { user, params }: TrackerRequest,
  action: WorkspaceAction,
): Promise<TrackerIdentity> {
  const { workspace, tracker: trackerId } = readPathParameters(params, 'workspace', 'tracker')
  const { workspaceId } = await requireRole(database, user, { workspaceId: workspace, action })
  const tracker = isUuid(trackerId) ? await findTracker(database, trackerId) : null
  if (tracker?.workspaceId !== workspaceId) throw Refusal.notFound('Tracker not found.')
  return tracker
}
