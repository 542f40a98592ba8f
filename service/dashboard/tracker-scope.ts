import { findTracker, type TrackerIdentity } from '../access/store.ts'
import { Refusal } from '../http/refusal.ts'
import type { CurrentPerson } from '../people/session-store.ts'
import type { WorkspaceAction } from '../people/workspace-role.ts'
import { requireRole } from '../people/workspaces.ts'
import { isUuid } from '../util/uuid.ts'
import type { DashboardContext } from './dashboard-context.ts'

/** A request below `TRACKER_PATH`; its parameters are not validated yet. */
export interface TrackerRequest {
  person: CurrentPerson
  params: unknown
}

/**
 * Returns the tracker of a request, once the role of the person allows the action. Throws a 403
 * when it does not, and a 404 for a tracker of another workspace as for one that does not exist.
 */
export async function requireTracker(
  { database }: DashboardContext,
  { person, params }: TrackerRequest,
  action: WorkspaceAction,
): Promise<TrackerIdentity> {
  const { workspace, tracker: trackerId } = params as Record<string, string>
  const { workspaceId } = await requireRole(database, person, { workspaceId: workspace, action })
  const tracker = isUuid(trackerId ?? '') ? await findTracker(database, trackerId ?? '') : null
  if (tracker?.workspaceId !== workspaceId) throw Refusal.notFound('Tracker not found.')
  return tracker
}
